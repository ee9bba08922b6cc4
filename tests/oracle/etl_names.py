"""Class GUID of each kernel event group (the high byte of a hook id); data only, used by reader and writer."""

GROUP_GUIDS = (
    "68fdd900-4a3e-11d1-84f4-0000f80464e3",  # 0x00 HEADER
    "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c",  # 0x01 IO
    "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c",  # 0x02 MEMORY
    "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c",  # 0x03 PROCESS
    "90cbdc39-4a3e-11d1-84f4-0000f80464e3",  # 0x04 FILE
    "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c",  # 0x05 THREAD
    "9a280ac0-c8e0-11d1-84e2-00c04fb998a2",  # 0x06 TCPIP
    "3282fc76-feed-498e-8aa7-e70f459d430e",  # 0x07 JOB
    "bf3a50c5-a9c9-4988-a005-2df0b7c80f80",  # 0x08 UDPIP
    "ae53722e-c863-11d2-8659-00c04fa321a1",  # 0x09 REGISTRY
    "13976d09-a327-438c-950b-7f03192815c7",  # 0x0A DBGPRINT
    "01853a65-418f-4f36-aefc-dc0f1d2fd235",  # 0x0B CONFIG
    "99134383-5248-43fc-834b-529454e75df3",  # 0x0C SPARE1
    "42695762-ea50-497a-9068-5cbbb35e0b95",  # 0x0D WNF
    "0268a8b6-74fd-4302-9dd0-6e8f1795c0cf",  # 0x0E POOL
    "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc",  # 0x0F PERFINFO
    "222962ab-6180-4b88-a825-346b75f2a24a",  # 0x10 HEAP
    "89497f50-effe-4440-8cf2-ce6b1cdcaca7",  # 0x11 OBJECT
    "e43445e0-0903-48c3-b878-ff0fccebdd04",  # 0x12 POWER
    "a9152f00-3f58-4bee-92a1-70c7d079d5dd",  # 0x13 MODBOUND
    "2cb15d1d-5fc1-11d2-abe1-00a0c911f518",  # 0x14 IMAGE
    "b2d14872-7c5b-463d-8419-ee9bf7d23e04",  # 0x15 DPC
    "7687a439-f752-45b8-b741-321aec0f8df9",  # 0x16 CC
    "3ac66736-cc59-4cff-8115-8df50e39816b",  # 0x17 CRITSEC
    "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3",  # 0x18 STACKWALK
    "9aec974b-5b8e-4118-9b92-3186d8002ce5",  # 0x19 UMS
    "45d8cccd-539f-4b72-a8b7-5c683142609a",  # 0x1A ALPC
    "d837ca92-12b9-44a5-ad6a-3a65b3578aa8",  # 0x1B SPLITIO
    "c861d0e2-a2c1-4d36-9f9c-970bab943a12",  # 0x1C THREAD_POOL
    "7f2a405c-69b5-4bf9-a1f5-30e8f1afab5e",  # 0x1D HYPERVISOR
    "2ce9a149-effe-42f0-a635-a1d39e26c8f2",  # 0x1E HYPERVISORX
)
ZERO_GUID = "00000000-0000-0000-0000-000000000000"
IMAGE_GUID = GROUP_GUIDS[0x14]


def group_guid(group, opcode):
    """Provider of a SYSTEM, COMPACT or PERFINFO record; image loads travel as hook 0x030A."""
    if group == 0x03 and opcode == 0x0A:
        return IMAGE_GUID
    return GROUP_GUIDS[group] if group < len(GROUP_GUIDS) else ZERO_GUID
