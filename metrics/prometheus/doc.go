// Package sluiceprom exports the statistics of a program's named channels to Prometheus:
//
//	registry.MustRegister(sluiceprom.NewCollector(nil))
//	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
//
// It covers every channel that was created with a name, and channels of other types that
// were registered with inspect.Register. Channels are read during a scrape; between
// scrapes there is no cost: no goroutine, no timer, nothing per value.
//
// docs/metrics.md lists the metrics with their types, units and labels. dashboard.json
// beside this file is a dashboard for Grafana. docs/releases.md has the command that adds
// this module to a program.
//
// # Labels
//
// Channels of the same name and kind are added up. At most [Options].MaxNames names have
// series of their own; the channels of all other names are added up as name="_OTHER", and
// sluice_channel_other_names is the number of these names. Invalid UTF-8 and invisible
// characters in names become U+FFFD, and names longer than 128 bytes are truncated.
//
// # Channels that do not answer
//
// A scrape waits for up to a second for the Stats of channels of other types, once. While one
// of them does not return, the gauges of its name are missing, its counters stay, and
// sluice_channel_unanswered counts it. All other names have their figures.
//
// # Channels that become garbage
//
// The counts of a channel stay in the series of its name, so counters never fall. Counts
// after the last scrape are lost. The series of a name without channels ends when another
// name needs its place, not before.
//
// # Package name
//
// The package is not named after its directory, because a program that imports it also
// imports package prometheus of the client library.
package sluiceprom
