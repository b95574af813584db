#include "runtime/report/fault.h"

static const FaultInfo faults[] = {
#define FAULT(name, ...) {__VA_ARGS__},
#include "runtime/abi/faults.def"
#undef FAULT
};

const FaultInfo *fault_info(int32_t fault) {
    static const FaultInfo unknown = {"SB7000", "unknown fault", "report this", ""};
    bool known = fault >= SB_FAULT_FIRST && fault < SB_FAULT_END;
    return known ? &faults[fault - SB_FAULT_FIRST] : &unknown;
}
