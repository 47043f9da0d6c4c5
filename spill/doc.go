// Package spill makes channels that go on on disk when memory ends.
package spill
