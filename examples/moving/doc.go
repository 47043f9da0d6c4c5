// Package moving contains the examples of other libraries, rewritten with sluice. Each
// Example is named after theirs; docs/moving-pipelines.md compares the two.
//
// The package has no code of its own, only tests.
package moving
