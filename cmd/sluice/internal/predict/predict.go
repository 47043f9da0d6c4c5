// Package predict predicts the throughput of one channel on more CPUs, from a
// few measured counts of CPUs, with a band for each prediction.
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
// # Bands
//
// The law fits nearly any curve, which does not validate it for larger counts.
// So each figure has a mode: measured, interpolated or extrapolated. The band
// of a figure that was not measured comes from published curves: each is
// predicted from its smaller counts, and the band covers the errors at the
// larger ones.
//
// What may enter: the law, published curves, and predictions from both. Flags
// and help are in package main.
package predict
