/*
 * version.h - what the build says about itself; the build system passes both as macros.
 */
#ifndef WH_VERSION_H
#define WH_VERSION_H

#ifndef WH_VERSION
#define WH_VERSION "0.1.0"
#endif

#ifndef WH_COMMIT
#define WH_COMMIT "unknown"
#endif

#endif
