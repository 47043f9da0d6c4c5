// Package debug shows the channels of a running program: a page that is live, and
// the same as JSON.
//
// Nothing is registered by importing it. A program says where, and on which
// address:
//
//	mux := http.NewServeMux()
//	mux.Handle("/debug/sluice", debug.Handler())
//	http.ListenAndServe("localhost:6060", mux)
//
// Listed are the channels of [sluice.Channels]: those made with a name.
//
// # Who may see it
//
// Do not serve it on an address that strangers reach. It tells the names of
// channels and how busy they are, and each page that is open makes work. It asks
// for no password: put it on localhost, or behind what does. It never shows a
// value, changes nothing, loads nothing from elsewhere, and runs no script but its
// own (Content-Security-Policy).
//
// # Queries
//
// A GET without a query is the page. These are its parameters, each at most once:
//
//	format   html (the default), json, or events: the JSON once a second, as
//	         server-sent events; css and js are the page's own
//	channel  the ID of a channel: only that one, with its inside: who is in line and
//	         for how long, rings, lanes; no other but format goes with it
//	filter   only names that contain this, in either case
//	kind     only rendezvous, bounded, elastic or sharded; or other, for foreign kinds
//	sort     id, name, kind, fill, len, sent, received, dropped, senders, receivers,
//	         oldestsender, oldestreceiver, high, lanes or bytes; sent, received and
//	         dropped go by rate
//	order    asc or desc; without it, ids, names and kinds ascend, figures descend
//	page     from 1
//	size     channels on a page: from 1 to 200, 50 without it
//
// JSON is a [Report]. A query that is anything else is answered by status 400 and
// a line that says what is wrong; a channel that is gone by 404; a method other
// than GET by 405; more than 64 streams at once by 503.
//
// # Cost
//
// Counting is part of every channel, whether anybody looks or not. While a page is
// open, or JSON is asked for, all named channels are asked for their Stats at most
// once a second, for all who look together; where one channel is asked for, only that
// one is looked at. With 10,000 channels that takes 0.4 to
// 0.7 % of a core, depending on the order (BenchmarkUpdate).
//
// A value takes so many times as long as through a channel without a name, one to one
// at GOMAXPROCS=2, the median of 11 rounds in turns and its quartiles
// (BenchmarkChannel, both 2026-11-21, AMD EPYC Zen 5 VM with 2 cores, Go 1.26.8, in
// the version that this text came with):
//
//	            without a name  with a name       on an open page   its own page open
//	Rendezvous  146 ns          1.00 (0.98-1.02)  1.07 (1.05-1.07)  1.08 (1.06-1.09)
//	Bounded     19 ns           1.03 (0.99-1.07)  1.01 (0.98-1.03)  1.01 (1.00-1.04)
//	Sharded     59 ns           0.97 (0.95-1.04)  0.89 (0.86-0.94)  0.95 (0.87-1.05)
//
// There is no goroutine but those of requests. A stream ends when its client goes
// away, or takes nothing for ten seconds, or when [net/http.Server.Shutdown] is called.
//
// A handler keeps the figures of the last look, some 350 bytes a channel, and no
// channel.
package debug
