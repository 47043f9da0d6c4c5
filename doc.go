// Package sluice provides channels that do what the built-in chan cannot: waits
// that end with a context, limits in bytes, overflow policies, batches. [Channel]
// lists the kinds, what they promise, and the packages that build on them.
package sluice
