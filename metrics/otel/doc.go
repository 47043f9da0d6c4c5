// Package sluiceotel exports the statistics of a program's named channels to
// OpenTelemetry:
//
//	registration, err := sluiceotel.Register(otel.GetMeterProvider(), nil)
//
// It covers every channel that was created with a name, and channels of other types that
// were registered with inspect.Register. The instruments are observable and share one
// callback, so all figures of a collection are consistent. Channels are read during a
// collection; between collections there is no cost: no goroutine, no timer, nothing per
// value.
//
// docs/metrics.md lists the instruments with their types, units and attributes. Channels
// without a limit have no sluice.channel.capacity, because integers cannot be infinite.
// docs/releases.md has the command that adds this module to a program.
//
// # Attributes
//
// Channels of the same name and kind are added up. At most [Options].MaxNames names have
// attributes of their own; the channels of all other names are added up as _OTHER, and
// sluice.channel.other_names is the number of these names. Invalid UTF-8 and invisible
// characters in names become U+FFFD, and names longer than 128 bytes are truncated.
//
// # Channels that do not answer
//
// A collection waits for up to a second for the Stats of channels of other types, once. While
// one of them does not return, the gauges of its name are not observed, its counters stay, and
// sluice.channel.unanswered counts it. All other names have their figures.
//
// # Channels that become garbage
//
// The counts of a channel stay with its name, so counters never fall. Counts after the
// last collection are lost. A name without channels is removed when another name needs
// its place, not before.
//
// # Package name
//
// The package is not named after its directory, because a program that imports it also
// imports package otel of the API.
package sluiceotel
