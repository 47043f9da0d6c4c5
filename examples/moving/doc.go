// Package moving contains the examples of other libraries, rewritten with sluice. Each
// Example is named after theirs; docs/choosing.md maps their functions to ours.
//
// The package has no code of its own, only tests.
package moving
