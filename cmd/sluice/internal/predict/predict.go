// Package predict says how the throughput of one channel goes on as CPUs are
// added, from a few measured counts of CPUs, and how sure that is.
//
// # The law
//
// The Universal Scalability Law gives the throughput X of N processors that
// share something:
//
//	X(N) = λN / (1 + σ(N−1) + κN(N−1))
//
// λ is the throughput of one, in operations per second. σ is the share of the
// work that cannot be done at once: it makes the curve level off. κ is what each
// pair of processors costs: it makes the curve come down again. Source:
// N. Gunther, "A General Theory of Computational Scalability Based on Rational
// Functions", 2008.
//
// σ is free above 1 here, where others clamp it to [0, 1]. As a share of work it
// cannot be more than all. But on one CPU a channel has nobody to wait for and
// its cache lines never leave, and on two it has: it is often two or three times
// slower on two than on one. That is a σ of 2 to 5, and a law that
// cannot say it puts it into κ, where it becomes a collapse that never comes.
//
// # How sure
//
// The law fits nearly any curve, and that says nothing about the counts beyond.
// So each figure has a mode: measured, interpolated or extrapolated. The band of
// one that was not measured is taken from the published curves: predict each from its
// smaller counts, compare with the larger, see how far off that was.
//
// What may enter: the law, what was published, and what can be said of a curve
// from the two. Flags and help are in package main.
package predict
