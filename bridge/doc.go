// Package bridge connects channels of package sluice to built-in channels.
//
//   - [FromChan] sends to a channel what it receives from a built-in one.
//   - [ToChan] receives from a channel into a built-in one.
//   - A [Pipe] has built-in channels at both ends, and a channel of any kind between them.
package bridge
