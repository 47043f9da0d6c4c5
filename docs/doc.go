// Package docs holds what is written about sluice: guides for those who use it, and
// decisions for those who change it. Its tests keep the documents of the whole
// repository true: that the commands in them exist, that their Go code is an
// example's, that their links lead somewhere, and that the figures of the guides
// are those of bench/RESULTS.md. After a new measurement this writes them anew:
//
//	go test ./docs -update
//
// It has no code of its own.
package docs
