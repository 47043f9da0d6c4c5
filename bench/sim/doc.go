// Package sim simulates what memory that many CPUs share costs a channel.
//
// It is a discrete-event model. A Machine has cores in domains: cores that share a
// last-level cache. Each core runs a program, an ordinary function whose accesses of
// shared memory are calls of its Core: Load, Store, CAS, Add. A Line is a cache line.
//
//   - One core owns a line exclusively, or several share a copy (the states M and S of
//     MESI; the others make no difference here). A write by the owner and a read of a
//     copy cost a few nanoseconds. All other accesses move the line: Near nanoseconds
//     within a domain, Far between two.
//   - A line serves one transfer at a time, in the order of the requests. A request
//     that has to wait has already arrived, so it then costs half of a transfer.
//   - Between accesses a core works for a time that varies around its mean, so that
//     cores do not run in step.
//   - A goroutine that sleeps pays for it, and so does the one that wakes it. There is
//     one goroutine per core: the scheduler is not a part of the model.
//
// Everything else about a machine is left out: SMT, frequencies, bandwidth, the
// structure of the interconnect, prefetching, far atomics. So the model is a tool for
// ratios between designs, and Fit measures its error on published curves.
//
// The programs of our engines are in native.go, segqueue.go, shard.go and handoff.go, and how
// their goroutines wait is in waitqueue.go and patience.go. Tests count the lines that the
// real channels change, and compare.
package sim
