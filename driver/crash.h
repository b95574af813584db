// Crash: what sbc says when a signal ends it, which an extern function in C may cause.
#ifndef SBC_DRIVER_CRASH_H
#define SBC_DRIVER_CRASH_H

// Takes over the signals of crashes. They end the process all the same.
void crash_report(void);

#endif
