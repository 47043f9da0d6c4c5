// Package watch shows the channels of a running service in a terminal: what the
// page of package debug shows in a browser, from the JSON that it stands on.
//
// Asking, knowing and drawing are apart: a [Service] is asked, a model knows what
// to show and what keys do, and draws a screen into a grid of cells; only live.go
// has a terminal. So a test reads a screen as text.
//
// The terminal is driven by github.com/gdamore/tcell/v3: it has the fewest
// dependencies of the libraries that are kept, brings an emulated terminal to test
// with, and no way of writing models that this package would have to follow.
//
// What a service sends is not trusted. Its names and words pass through clean on
// their way to a terminal, wherever they are drawn, and its figures may be absurd.
//
// What may enter: how a service is asked for its channels, and how they look in
// characters.
package watch
