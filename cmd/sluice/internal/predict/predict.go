// Package predict predicts a throughput on more CPUs, from a few measured counts
// of CPUs, with a band for each prediction.
//
// # The law
//
// The Universal Scalability Law gives the throughput X of N processors that
// share a resource:
//
//	X(N) = λN / (1 + σ(N−1) + κN(N−1))
//
// λ is the throughput of one processor, in operations per second. σ is the
// serial share of the work: it makes the curve level off. κ is the cost of each
// pair of processors: it makes the curve come down again. Source: N. Gunther,
// "A General Theory of Computational Scalability Based on Rational Functions",
// 2008.
//
// Here σ may exceed 1, while others clamp it to [0, 1], because it is a share.
// On one CPU a channel's goroutines never wait for another CPU, and its cache
// lines never move; on two CPUs it is often two or three times slower. That is
// a σ of 2 to 5. A law with a clamped σ would put the difference into κ, and
// predict a collapse that does not happen.
//
// # What became of curves like this one
//
// The law fits nearly any curve, which does not validate it for larger counts.
// So each figure has a mode: measured, interpolated or extrapolated. The law only
// says what a curve looks like; a figure that was not measured is what became of
// the published curves that looked the same: their median, and the band of most
// of them. A curve that is linear so far is compared with private parts for each
// CPU, and one that falls with contended locks; no rule tells them apart.
//
// What may enter: the law, published curves, and predictions from both. Flags
// and help are in package main.
package predict
