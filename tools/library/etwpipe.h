/* Analysing and relogging traces of Event Tracing for Windows: the C interface of etwpipe, C11.
 *
 * Shaped after the C interface of the C++ Build Insights SDK, with types of fixed width.
 *
 * - Paths and narrow texts are UTF-8, wide texts UTF-16LE; both end with a NUL.
 * - What a callback is given lives until it returns; etwpipe_event_copy() gives a copy that stays.
 * - Callbacks come one at a time, from the thread that called etwpipe_analyze() or etwpipe_relog().
 * - No C++ exception leaves the library. One thrown by a callback counts as ETWPIPE_ANALYSIS_FAILURE.
 */
#ifndef ETWPIPE_H
#define ETWPIPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ETWPIPE_API __attribute__((visibility("default")))
#else
#define ETWPIPE_API
#endif

/* How a session ended; the numbers are those of the SDK. */
typedef enum ETWPIPE_RESULT {
  ETWPIPE_RESULT_SUCCESS = 0,
  ETWPIPE_RESULT_ANALYSIS_ERROR = 1, /* a callback failed, or injected what cannot be injected */
  ETWPIPE_RESULT_CANCELLED = 2,
  ETWPIPE_RESULT_INVALID_INPUT_FILE = 3,  /* no path, or the file is no trace */
  ETWPIPE_RESULT_INVALID_OUTPUT_FILE = 4, /* no path, the input itself, or it could not be written */
  ETWPIPE_RESULT_MISSING_ANALYSIS_CALLBACK = 5,
  ETWPIPE_RESULT_MISSING_RELOG_CALLBACK = 6,
  ETWPIPE_RESULT_OPEN_INPUT_FILE = 7, /* not there, or no permission */
  ETWPIPE_RESULT_PROCESS_TRACE = 8,   /* reading failed halfway */
  ETWPIPE_RESULT_UNKNOWN = 24         /* a defect of the library, or no memory */
} ETWPIPE_RESULT;

/* Answer of a callback. Any other number counts as a failure. */
typedef enum ETWPIPE_CALLBACK_CODE {
  ETWPIPE_ANALYSIS_SUCCESS = 1, /* go on */
  ETWPIPE_ANALYSIS_FAILURE = 2, /* stop the session: ETWPIPE_RESULT_ANALYSIS_ERROR */
  ETWPIPE_ANALYSIS_CANCEL = 4,  /* stop the session: ETWPIPE_RESULT_CANCELLED */
  /* No answers: in C++ they make every int a value of this type, so that a wrong one can be told. */
  ETWPIPE_CALLBACK_CODE_LEAST = INT32_MIN,
  ETWPIPE_CALLBACK_CODE_MOST = INT32_MAX
} ETWPIPE_CALLBACK_CODE;

/* ETWPIPE_EVENT_DATA.EventId */
typedef enum ETWPIPE_EVENT_ID {
  ETWPIPE_EVENT_ID_BACK_END_PASS = 1,
  ETWPIPE_EVENT_ID_BOTTOM_UP = 2,
  ETWPIPE_EVENT_ID_C1_DLL = 3,
  ETWPIPE_EVENT_ID_C2_DLL = 4,
  ETWPIPE_EVENT_ID_CODE_GENERATION = 5,
  ETWPIPE_EVENT_ID_COMMAND_LINE = 6,
  ETWPIPE_EVENT_ID_COMPILER = 7,
  ETWPIPE_EVENT_ID_ENVIRONMENT_VARIABLE = 8,
  ETWPIPE_EVENT_ID_EXECUTABLE_IMAGE_OUTPUT = 9,
  ETWPIPE_EVENT_ID_EXP_OUTPUT = 10,
  ETWPIPE_EVENT_ID_FILE_INPUT = 11,
  ETWPIPE_EVENT_ID_FORCE_INLINEE = 12,
  ETWPIPE_EVENT_ID_FRONT_END_FILE = 13,
  ETWPIPE_EVENT_ID_FRONT_END_PASS = 14,
  ETWPIPE_EVENT_ID_FUNCTION = 15,
  ETWPIPE_EVENT_ID_IMP_LIB_OUTPUT = 16,
  ETWPIPE_EVENT_ID_LIB_OUTPUT = 17,
  ETWPIPE_EVENT_ID_LINKER = 18,
  ETWPIPE_EVENT_ID_LTCG = 19,
  ETWPIPE_EVENT_ID_OBJ_OUTPUT = 20,
  ETWPIPE_EVENT_ID_OPT_ICF = 21,
  ETWPIPE_EVENT_ID_OPT_LBR = 22,
  ETWPIPE_EVENT_ID_OPT_REF = 23,
  ETWPIPE_EVENT_ID_PASS1 = 24,
  ETWPIPE_EVENT_ID_PASS2 = 25,
  ETWPIPE_EVENT_ID_PRE_LTCG_OPT_REF = 26,
  ETWPIPE_EVENT_ID_SYMBOL_NAME = 27,
  ETWPIPE_EVENT_ID_TEMPLATE_INSTANTIATION = 28,
  ETWPIPE_EVENT_ID_THREAD = 29,
  ETWPIPE_EVENT_ID_TOP_DOWN = 30,
  ETWPIPE_EVENT_ID_WHOLE_PROGRAM_ANALYSIS = 31,
  ETWPIPE_EVENT_ID_OTHER = 0xFFFF /* every other event: Data is an ETWPIPE_RECORD_DATA */
} ETWPIPE_EVENT_ID;

/* Bits of ETWPIPE_EVENT_DATA.Flags. */
#define ETWPIPE_EVENT_UNTERMINATED 0x0001u      /* no stop in the trace */
#define ETWPIPE_EVENT_TRUNCATED_START 0x0002u   /* no start in the trace: begins with it */
#define ETWPIPE_EVENT_UNBALANCED 0x0004u        /* ended by the stop of an activity below it on its thread */
#define ETWPIPE_EVENT_MIGRATED 0x0008u          /* stopped by another thread */
#define ETWPIPE_EVENT_LATE_CHILDREN 0x0010u     /* children go on: the inclusive values lack them */
#define ETWPIPE_EVENT_NEGATIVE_DURATION 0x0020u /* its stop is earlier than its start */
#define ETWPIPE_EVENT_COARSE_DURATION 0x0040u   /* its stop follows from milliseconds or microseconds */
#define ETWPIPE_EVENT_LOST_EVENTS 0x0080u       /* context switches are missing: CPU ticks are too low */
#define ETWPIPE_EVENT_ACTIVITY 0x8000u          /* an activity; without it a simple event */

/* One event. Times and ticks are those of the session clock. In a start callback, and for the activities around an
 * event, StopTimestamp and all derived ticks are 0; in a simple event they always are. */
typedef struct ETWPIPE_EVENT_DATA {
  uint16_t EventId;         /* ETWPIPE_EVENT_ID */
  uint64_t EventInstanceId; /* names its start record; the same in every pass, run and relog */
  int64_t TickFrequency;    /* ticks per second */
  int64_t StartTimestamp;   /* of a simple event: when it happened */
  int64_t StopTimestamp;    /* 0 without a stop */
  int64_t ExclusiveDurationTicks;
  int64_t CPUTicks; /* 0 also where the trace has no context switches */
  int64_t ExclusiveCPUTicks;
  int64_t WallClockTimeResponsibilityTicks;
  int64_t ExclusiveWallClockTimeResponsibilityTicks;
  const void* Data;   /* payload by EventId, below; may be NULL */
  uint32_t ProcessId; /* process, thread and processor of its start; 0xFFFFFFFF where nobody knows */
  uint32_t ThreadId;
  uint16_t ProcessorIndex; /* from 0 */
  uint16_t Flags;          /* padding in the SDK */
  uint32_t Reserved;
  const char* EventName; /* the kind of event, not what it is about */
  const uint16_t* EventWideName;
} ETWPIPE_EVENT_DATA;

/* An event behind the activities it lies in: the outermost first, the event itself last. */
typedef struct ETWPIPE_EVENT_COLLECTION_DATA {
  uint32_t Count; /* at least 1 */
  const ETWPIPE_EVENT_DATA* Elements;
} ETWPIPE_EVENT_COLLECTION_DATA;

typedef struct ETWPIPE_GUID {
  uint32_t Data1;
  uint16_t Data2;
  uint16_t Data3;
  uint8_t Data4[8];
} ETWPIPE_GUID;

/* Payloads. Texts marked "or NULL" are NULL where the event does not tell; the others are empty then. */

/* COMPILER, LINKER */
typedef struct ETWPIPE_INVOCATION_VERSION_DATA {
  uint16_t VersionMajor;
  uint16_t VersionMinor;
  uint16_t BuildNumberMajor;
  uint16_t BuildNumberMinor;
} ETWPIPE_INVOCATION_VERSION_DATA;
typedef struct ETWPIPE_INVOCATION_DATA {
  int32_t MSVCToolCode; /* 0 CL, 1 LINK */
  ETWPIPE_INVOCATION_VERSION_DATA ToolVersion;
  const char* ToolVersionString;    /* or NULL */
  const uint16_t* WorkingDirectory; /* or NULL */
  const uint16_t* ToolPath;         /* or NULL */
  uint64_t InvocationId;            /* invocations are numbered from 1 by their start; not in the SDK */
} ETWPIPE_INVOCATION_DATA;

/* FRONT_END_PASS, BACK_END_PASS */
typedef struct ETWPIPE_CL_PASS_DATA {
  int32_t TranslationUnitPassCode;  /* 0 front end, 1 back end */
  const uint16_t* InputSourcePath;  /* or NULL */
  const uint16_t* OutputObjectPath; /* or NULL */
} ETWPIPE_CL_PASS_DATA;

/* FILE_INPUT and the ..._OUTPUT events */
typedef struct ETWPIPE_FILE_DATA {
  const uint16_t* Path;
  int32_t TypeCode; /* 0 other, 1 obj, 2 exe or dll, 3 lib, 4 import lib, 5 exp */
} ETWPIPE_FILE_DATA;

/* FRONT_END_FILE */
typedef struct ETWPIPE_FRONT_END_FILE_DATA {
  const char* Path;
} ETWPIPE_FRONT_END_FILE_DATA;

/* FUNCTION */
typedef struct ETWPIPE_FUNCTION_DATA {
  const char* Name; /* decorated */
} ETWPIPE_FUNCTION_DATA;

/* FORCE_INLINEE */
typedef struct ETWPIPE_FUNCTION_FORCE_INLINEE_DATA {
  const char* Name;
  uint16_t Size; /* instructions of the intermediate language */
} ETWPIPE_FUNCTION_FORCE_INLINEE_DATA;

/* ENVIRONMENT_VARIABLE. COMMAND_LINE has no struct: its Data is the const uint16_t* text itself. */
typedef struct ETWPIPE_NAME_VALUE_PAIR_DATA {
  const uint16_t* Name;
  const uint16_t* Value;
} ETWPIPE_NAME_VALUE_PAIR_DATA;

/* SYMBOL_NAME */
typedef struct ETWPIPE_SYMBOL_NAME_DATA {
  uint64_t Key; /* unique in the trace */
  const char* Name;
} ETWPIPE_SYMBOL_NAME_DATA;

/* TEMPLATE_INSTANTIATION */
typedef struct ETWPIPE_TEMPLATE_INSTANTIATION_DATA {
  uint64_t SpecializationSymbolKey;
  uint64_t PrimaryTemplateSymbolKey;
  int32_t KindCode; /* 0 class, 1 function, 2 variable, 3 concept */
} ETWPIPE_TEMPLATE_INSTANTIATION_DATA;

/* Every other event: its record. In the stop callback of an activity the record that stopped it, if there is one. */
typedef struct ETWPIPE_RECORD_DATA {
  ETWPIPE_GUID Provider;
  uint64_t Keyword;
  const char* ProviderName; /* the GUID's text where nobody knows a name */
  const uint8_t* Payload;
  uint32_t PayloadSize; /* bytes */
  uint32_t RecordSize;  /* bytes, with header and extended items */
  uint16_t Id;          /* 0 for classic events */
  uint16_t Task;
  uint8_t Version;
  uint8_t Opcode;
  uint8_t Level;
  uint8_t Channel;
  uint8_t HeaderKind;  /* 0 unknown; 32 and 64 bit: 1/2 SYSTEM, 3/4 COMPACT, 5/6 FULL, 7/8 INSTANCE, 9/10 PERFINFO,
                          11/12 EVENT; 13 MESSAGE, 14 TIMED, 15 ERROR */
  uint8_t PointerSize; /* 4 or 8: of the program that wrote it */
} ETWPIPE_RECORD_DATA;

typedef struct ETWPIPE_TRACE_INFO_DATA {
  uint32_t LogicalProcessorCount;
  int64_t TickFrequency;
  int64_t StartTimestamp; /* of the first event */
  int64_t StopTimestamp;  /* the largest of an event */
} ETWPIPE_TRACE_INFO_DATA;

typedef ETWPIPE_CALLBACK_CODE (*ETWPIPE_PROCESS_EVENT)(const ETWPIPE_EVENT_COLLECTION_DATA* stack, void* context);
typedef ETWPIPE_CALLBACK_CODE (*ETWPIPE_PROCESS_TRACE_INFO)(const ETWPIPE_TRACE_INFO_DATA* info, void* context);
typedef ETWPIPE_CALLBACK_CODE (*ETWPIPE_PROCESS_PHASE)(void* context);
/* `session` is for etwpipe_inject_event() and valid until the callback returns. */
typedef ETWPIPE_CALLBACK_CODE (*ETWPIPE_RELOG_EVENT)(const ETWPIPE_EVENT_COLLECTION_DATA* stack, const void* session,
                                                     void* context);

/* Every member must be set, else the result is ETWPIPE_RESULT_MISSING_ANALYSIS_CALLBACK. */
typedef struct ETWPIPE_ANALYSIS_CALLBACKS {
  ETWPIPE_PROCESS_EVENT OnStartActivity;
  ETWPIPE_PROCESS_EVENT OnStopActivity;
  ETWPIPE_PROCESS_EVENT OnSimpleEvent;
  ETWPIPE_PROCESS_TRACE_INFO OnTraceInfo;
  ETWPIPE_PROCESS_PHASE OnBeginAnalysis;
  ETWPIPE_PROCESS_PHASE OnEndAnalysis;
  ETWPIPE_PROCESS_PHASE OnBeginAnalysisPass;
  ETWPIPE_PROCESS_PHASE OnEndAnalysisPass;
} ETWPIPE_ANALYSIS_CALLBACKS;

/* Every member must be set, else the result is ETWPIPE_RESULT_MISSING_RELOG_CALLBACK. */
typedef struct ETWPIPE_RELOG_CALLBACKS {
  ETWPIPE_RELOG_EVENT OnStartActivity;
  ETWPIPE_RELOG_EVENT OnStopActivity;
  ETWPIPE_RELOG_EVENT OnSimpleEvent;
  ETWPIPE_PROCESS_TRACE_INFO OnTraceInfo;
  ETWPIPE_PROCESS_PHASE OnBeginRelogging;
  ETWPIPE_PROCESS_PHASE OnEndRelogging;
  ETWPIPE_PROCESS_PHASE OnBeginReloggingPass;
  ETWPIPE_PROCESS_PHASE OnEndReloggingPass;
} ETWPIPE_RELOG_CALLBACKS;

typedef struct ETWPIPE_ANALYSIS_DESCRIPTOR {
  uint32_t NumberOfPasses;
  ETWPIPE_ANALYSIS_CALLBACKS Callbacks;
  void* Context; /* handed to every callback */
} ETWPIPE_ANALYSIS_DESCRIPTOR;

/* Bits of ETWPIPE_RELOG_DESCRIPTOR.SystemEventsRetentionFlags. */
#define ETWPIPE_RETENTION_CPU_SAMPLES UINT64_C(0x1)      /* profile samples and their stacks */
#define ETWPIPE_RETENTION_CONTEXT_SWITCHES UINT64_C(0x2) /* not in the SDK, like those below */
#define ETWPIPE_RETENTION_PROCESSES UINT64_C(0x4)        /* processes, threads, images: always on */
#define ETWPIPE_RETENTION_FILE_IO UINT64_C(0x8)
#define ETWPIPE_RETENTION_MEMORY UINT64_C(0x10)
#define ETWPIPE_RETENTION_CLR UINT64_C(0x20)
#define ETWPIPE_RETENTION_ALL UINT64_MAX /* every record, those of programs included */

typedef struct ETWPIPE_RELOG_DESCRIPTOR {
  uint32_t NumberOfAnalysisPasses;
  ETWPIPE_ANALYSIS_CALLBACKS AnalysisCallbacks;
  ETWPIPE_RELOG_CALLBACKS RelogCallbacks;
  uint64_t SystemEventsRetentionFlags;
  void* AnalysisContext;
  void* RelogContext;
} ETWPIPE_RELOG_DESCRIPTOR;

/* Shows a trace to the callbacks: OnBeginAnalysis; in each pass OnBeginAnalysisPass, OnTraceInfo, the events in their
 * order, OnEndAnalysisPass; OnEndAnalysis. After a failure or a cancellation no callback comes any more. */
ETWPIPE_API ETWPIPE_RESULT etwpipe_analyze(const char* input, const ETWPIPE_ANALYSIS_DESCRIPTOR* descriptor);

/* Writes a trace anew: OnBeginRelogging; the analysis as above; one pass of OnBeginReloggingPass, OnTraceInfo, events
 * and OnEndReloggingPass; OnEndRelogging. `output` is an .etl; it is replaced if it exists, and appears only if the
 * result is ETWPIPE_RESULT_SUCCESS. */
ETWPIPE_API ETWPIPE_RESULT etwpipe_relog(const char* input, const char* output,
                                         const ETWPIPE_RELOG_DESCRIPTOR* descriptor);

/* What kind of event it is; EVENT_DESCRIPTOR of Windows. */
typedef struct ETWPIPE_EVENT_DESCRIPTOR {
  uint16_t Id;
  uint8_t Version;
  uint8_t Channel;
  uint8_t Level;
  uint8_t Opcode;
  uint16_t Task;
  uint64_t Keyword;
} ETWPIPE_EVENT_DESCRIPTOR;

/* Puts an event into the output at its timestamp, which may be anywhere in the trace; outside it becomes that of the
 * first or the last event and is counted. ETWPIPE_RESULT_ANALYSIS_ERROR, and the session ends with it, if the processor
 * is beyond those of the trace or the event exceeds 64 KiB. The data are copied. */
ETWPIPE_API ETWPIPE_RESULT etwpipe_inject_event(const void* session, const ETWPIPE_GUID* provider,
                                                const ETWPIPE_EVENT_DESCRIPTOR* descriptor, uint32_t process_id,
                                                uint32_t thread_id, uint16_t processor_index, int64_t timestamp,
                                                const void* data, uint32_t byte_count);

/* A copy with everything it points to, to be freed with etwpipe_event_free(). NULL if `event` is or memory is short. */
ETWPIPE_API ETWPIPE_EVENT_DATA* etwpipe_event_copy(const ETWPIPE_EVENT_DATA* event);
/* Nothing happens for NULL. */
ETWPIPE_API void etwpipe_event_free(ETWPIPE_EVENT_DATA* event);

/* What the last session of this thread did. */
typedef struct ETWPIPE_SESSION_COUNTS {
  uint64_t Events;      /* events shown in the last pass */
  uint64_t Injected;    /* events written with etwpipe_inject_event() */
  uint64_t Clamped;     /* of these, events whose timestamp lay outside the trace */
  uint64_t Retained;    /* records of the input in the output */
  uint64_t EventsLost;  /* when the trace was recorded */
  uint64_t BuffersLost; /* when the trace was recorded */
  uint64_t Damage;      /* places of the input that could not be read or made no sense */
} ETWPIPE_SESSION_COUNTS;
ETWPIPE_API void etwpipe_last_counts(ETWPIPE_SESSION_COUNTS* counts);
/* Why the last session of this thread ended without success, for a person; empty after success. Valid until the next
 * session of this thread. */
ETWPIPE_API const char* etwpipe_last_error(void);

/* Nanoseconds of ticks, cut towards zero and without overflow: ticks / f * 1e9 + ticks % f * 1e9 / f. */
ETWPIPE_API int64_t etwpipe_ticks_to_nanoseconds(int64_t ticks, int64_t frequency);

#ifdef __cplusplus
}
#endif

#ifdef __cplusplus
#define ETWPIPE_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define ETWPIPE_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
/* The layout of EVENT_DATA on 64-bit Windows. */
#if UINTPTR_MAX == UINT64_MAX
ETWPIPE_STATIC_ASSERT(sizeof(ETWPIPE_EVENT_DATA) == 120, "EVENT_DATA");
ETWPIPE_STATIC_ASSERT(offsetof(ETWPIPE_EVENT_DATA, EventId) == 0, "EventId");
ETWPIPE_STATIC_ASSERT(offsetof(ETWPIPE_EVENT_DATA, EventInstanceId) == 8, "EventInstanceId");
ETWPIPE_STATIC_ASSERT(offsetof(ETWPIPE_EVENT_DATA, TickFrequency) == 16, "TickFrequency");
ETWPIPE_STATIC_ASSERT(offsetof(ETWPIPE_EVENT_DATA, StartTimestamp) == 24, "StartTimestamp");
ETWPIPE_STATIC_ASSERT(offsetof(ETWPIPE_EVENT_DATA, StopTimestamp) == 32, "StopTimestamp");
ETWPIPE_STATIC_ASSERT(offsetof(ETWPIPE_EVENT_DATA, ExclusiveDurationTicks) == 40, "ExclusiveDurationTicks");
ETWPIPE_STATIC_ASSERT(offsetof(ETWPIPE_EVENT_DATA, CPUTicks) == 48, "CPUTicks");
ETWPIPE_STATIC_ASSERT(offsetof(ETWPIPE_EVENT_DATA, ExclusiveCPUTicks) == 56, "ExclusiveCPUTicks");
ETWPIPE_STATIC_ASSERT(offsetof(ETWPIPE_EVENT_DATA, WallClockTimeResponsibilityTicks) == 64, "responsibility");
ETWPIPE_STATIC_ASSERT(offsetof(ETWPIPE_EVENT_DATA, ExclusiveWallClockTimeResponsibilityTicks) == 72, "responsibility");
ETWPIPE_STATIC_ASSERT(offsetof(ETWPIPE_EVENT_DATA, Data) == 80, "Data");
ETWPIPE_STATIC_ASSERT(offsetof(ETWPIPE_EVENT_DATA, ProcessId) == 88, "ProcessId");
ETWPIPE_STATIC_ASSERT(offsetof(ETWPIPE_EVENT_DATA, ThreadId) == 92, "ThreadId");
ETWPIPE_STATIC_ASSERT(offsetof(ETWPIPE_EVENT_DATA, ProcessorIndex) == 96, "ProcessorIndex");
ETWPIPE_STATIC_ASSERT(offsetof(ETWPIPE_EVENT_DATA, EventName) == 104, "EventName");
ETWPIPE_STATIC_ASSERT(offsetof(ETWPIPE_EVENT_DATA, EventWideName) == 112, "EventWideName");
#endif

#endif /* ETWPIPE_H */
