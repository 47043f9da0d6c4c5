// Package sluiceotel tells OpenTelemetry of the named channels of a program:
//
//	registration, err := sluiceotel.Register(otel.GetMeterProvider(), nil)
//
// Every channel that was made with a name is in it, and those that were enlisted. The
// instruments are observable ones with a single callback, so all figures of a
// collection are of one look at the channels; that happens when a reader collects, and
// costs nothing in between: no goroutine, no timer, nothing on the way of a value.
//
// The instruments, their types, units and attributes are in docs/metrics.md of the
// repository. Without a limit there is no sluice.channel.limit, because an integer
// knows no infinity.
//
// # Attributes
//
// Channels of the same name and kind are added up. At most [Options.MaxNames] names have
// attributes of their own; the channels of all others are those of the name _OTHER, and
// sluice.channel.other_names says how many names these are. Names that are not fit to
// be shown are changed: what is no valid UTF-8, or not visible, becomes U+FFFD, and
// what is longer than 128 bytes is cut.
//
// # When a channel is garbage
//
// What it counted stays with its name, so no counter falls. What it counted after the
// last collection is not known to anybody. The attributes of a name whose channels are
// all garbage are left out when another name needs their place, not before.
//
// # The name of this package
//
// It is not that of its folder, because whoever imports it also imports the API, whose
// package is called otel.
package sluiceotel
