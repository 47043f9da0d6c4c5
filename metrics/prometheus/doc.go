// Package sluiceprom tells Prometheus of the named channels of a program:
//
//	registry.MustRegister(sluiceprom.NewCollector(nil))
//	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
//
// Every channel that was made with a name is in it, and those that were enlisted. It
// looks at them when it is asked, and costs nothing in between: no goroutine, no
// timer, nothing on the way of a value.
//
// The metrics, their types, units and labels are in docs/metrics.md of the repository;
// dashboard.json beside this file shows them in Grafana.
//
// # Labels
//
// Channels of the same name and kind are added up. At most [Options.MaxNames] names have
// series of their own; the channels of all others are those of name="_OTHER", and
// sluice_channel_other_names says how many names these are. Names that are not fit to
// be shown are changed: what is no valid UTF-8, or not visible, becomes U+FFFD, and
// what is longer than 128 bytes is cut.
//
// # When a channel is garbage
//
// What it counted stays in the series of its name, so no counter falls. What it
// counted after the last scrape is not known to anybody. The series of a name whose
// channels are all garbage ends when another name needs its place, not before.
//
// # The name of this package
//
// It is not that of its folder, because whoever imports it also imports the client
// library, whose package is called prometheus.
package sluiceprom
