// Package moving contains the examples of other libraries, rewritten with sluice. Each
// Example is named after theirs; docs/moving-pipelines.md compares the two line by line,
// and a test counts the lines of ours again.
//
// The package has no code of its own, only tests.
package moving
