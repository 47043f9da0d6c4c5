// Package watch shows the channels of a running service in a terminal, like the
// page of package livepage in a browser, and from the same JSON.
//
// Requests, state and drawing are separate: a [Service] sends requests; a model
// holds the state, handles keys, and draws a screen into a grid of cells; only
// live.go uses a terminal. So tests read a screen as text.
//
// The terminal library is github.com/gdamore/tcell/v3. Among the maintained
// libraries it has the fewest dependencies, it comes with an emulated terminal
// for tests, and it does not impose an architecture on this package.
//
// A service's responses are not trusted: all its text passes through clean
// before it is drawn, and its numbers may be absurd.
//
// This package holds the requests for channels and their display in characters.
package watch
