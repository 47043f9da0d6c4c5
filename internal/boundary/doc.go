// Package boundary consists of a test: which packages may import which, what a module
// for users may require, and that no engine blocks outside internal/park.
package boundary
