/* The included files that cost a build most wall-clock time: responsible_files TRACE [N]
 *
 * Prints, most responsible first: nanoseconds of exclusive wall-clock time responsibility, how often it was read, path.
 * responsible_files.cc prints the same. */
#include <errno.h>
#include <etwpipe.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Entry {
  char* path;
  int64_t ticks;
  int64_t count;
} Entry;

typedef struct Files {
  Entry* entries;
  size_t count;
  size_t room;
  int64_t frequency;
} Files;

/* Adds one reading of a file; 0 if memory is short. */
static int Add(Files* files, const ETWPIPE_EVENT_DATA* event) {
  const ETWPIPE_FRONT_END_FILE_DATA* data = event->Data;
  if (files->count == files->room) {
    const size_t room = files->room == 0 ? 64 : files->room * 2;
    Entry* const entries = realloc(files->entries, room * sizeof *entries);
    if (entries == NULL) return 0;
    files->entries = entries;
    files->room = room;
  }
  Entry* const entry = &files->entries[files->count];
  entry->path = malloc(strlen(data->Path) + 1);
  if (entry->path == NULL) return 0;
  strcpy(entry->path, data->Path);
  entry->ticks = event->ExclusiveWallClockTimeResponsibilityTicks;
  entry->count = 1;
  ++files->count;
  files->frequency = event->TickFrequency;
  return 1;
}

static int ByPath(const void* a, const void* b) { return strcmp(((const Entry*)a)->path, ((const Entry*)b)->path); }

static int ByTicks(const void* a, const void* b) {
  const Entry* const first = a;
  const Entry* const second = b;
  if (first->ticks != second->ticks) return first->ticks > second->ticks ? -1 : 1;
  return strcmp(first->path, second->path);
}

static void Print(Files* files, size_t most) {
  size_t merged = 0;
  if (files->count == 0) return;
  qsort(files->entries, files->count, sizeof *files->entries, ByPath);
  for (size_t i = 1; i < files->count; ++i) {
    Entry* const last = &files->entries[merged];
    if (strcmp(last->path, files->entries[i].path) == 0) {
      last->ticks += files->entries[i].ticks;
      ++last->count;
      free(files->entries[i].path);
    } else {
      files->entries[++merged] = files->entries[i];
    }
  }
  files->count = merged + 1;
  qsort(files->entries, files->count, sizeof *files->entries, ByTicks);
  for (size_t i = 0; i < files->count && i < most; ++i) {
    const Entry* const entry = &files->entries[i];
    printf("%" PRId64 " %" PRId64 " %s\n", etwpipe_ticks_to_nanoseconds(entry->ticks, files->frequency), entry->count,
           entry->path);
  }
}

static ETWPIPE_CALLBACK_CODE OnStop(const ETWPIPE_EVENT_COLLECTION_DATA* stack, void* context) {
  const ETWPIPE_EVENT_DATA* const event = &stack->Elements[stack->Count - 1];
  if (event->EventId != ETWPIPE_EVENT_ID_FRONT_END_FILE) return ETWPIPE_ANALYSIS_SUCCESS;
  return Add(context, event) ? ETWPIPE_ANALYSIS_SUCCESS : ETWPIPE_ANALYSIS_FAILURE;
}

static ETWPIPE_CALLBACK_CODE IgnoreEvent(const ETWPIPE_EVENT_COLLECTION_DATA* stack, void* context) {
  (void)stack;
  (void)context;
  return ETWPIPE_ANALYSIS_SUCCESS;
}
static ETWPIPE_CALLBACK_CODE IgnoreInfo(const ETWPIPE_TRACE_INFO_DATA* info, void* context) {
  (void)info;
  (void)context;
  return ETWPIPE_ANALYSIS_SUCCESS;
}
static ETWPIPE_CALLBACK_CODE IgnorePhase(void* context) {
  (void)context;
  return ETWPIPE_ANALYSIS_SUCCESS;
}

/* Whether all of `text` is a number, which `number` then is. */
static int ReadNumber(const char* text, size_t* number) {
  char* end;
  errno = 0;
  *number = strtoul(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

/* The exit status once everything is printed. */
static int Finish(void) {
  ETWPIPE_SESSION_COUNTS counts;
  etwpipe_last_counts(&counts);
  if (counts.Damage != 0) {
    fprintf(stderr, "%" PRIu64 " places of the trace could not be read; what stood there is missing\n", counts.Damage);
  }
  if (fflush(stdout) == 0 && ferror(stdout) == 0) return 0;
  perror("standard output");
  return 1;
}

int main(int argc, char** argv) {
  Files files = {0};
  ETWPIPE_ANALYSIS_DESCRIPTOR descriptor = {0};
  size_t most = 10;
  int status = 1;
  if (argc < 2 || argc > 3 || (argc == 3 && !ReadNumber(argv[2], &most))) {
    fprintf(stderr, "usage: %s TRACE [N]\n", argv[0]);
    return 2;
  }
  descriptor.NumberOfPasses = 1;
  descriptor.Context = &files;
  descriptor.Callbacks.OnStartActivity = IgnoreEvent;
  descriptor.Callbacks.OnStopActivity = OnStop;
  descriptor.Callbacks.OnSimpleEvent = IgnoreEvent;
  descriptor.Callbacks.OnTraceInfo = IgnoreInfo;
  descriptor.Callbacks.OnBeginAnalysis = IgnorePhase;
  descriptor.Callbacks.OnEndAnalysis = IgnorePhase;
  descriptor.Callbacks.OnBeginAnalysisPass = IgnorePhase;
  descriptor.Callbacks.OnEndAnalysisPass = IgnorePhase;
  if (etwpipe_analyze(argv[1], &descriptor) == ETWPIPE_RESULT_SUCCESS) {
    Print(&files, most);
    status = Finish();
  } else {
    fprintf(stderr, "%s\n", etwpipe_last_error());
  }
  for (size_t i = 0; i < files.count; ++i) free(files.entries[i].path);
  free(files.entries);
  return status;
}
