/*
 * tsan.h - tells ThreadSanitizer of an order that code it cannot see has made.
 *
 * liburcu comes compiled without it. What its publication of a node and its grace periods order is
 * repeated here for the tool: a release before the library is called, an acquire where it calls
 * back. Without the tool both are nothing. Threading: any thread.
 */
#ifndef WH_TSAN_H
#define WH_TSAN_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TSAN_IS_ON 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define TSAN_IS_ON 1
#endif

#ifdef TSAN_IS_ON
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define TSAN_ACQUIRE(address) __tsan_acquire((void *)(address))
#define TSAN_RELEASE(address) __tsan_release((void *)(address))
#else
#define TSAN_ACQUIRE(address) ((void)(address))
#define TSAN_RELEASE(address) ((void)(address))
#endif

#endif
