// Package livepage serves a live page that shows the channels of a running
// program, and the same data as JSON.
//
// Importing the package registers nothing. The program chooses the path and the
// address:
//
//	mux := http.NewServeMux()
//	livepage.Register(mux) // at /debug/sluice and /debug/sluice/
//	http.ListenAndServe("localhost:6060", mux)
//
// For another path, use [Handler]. The page shows the channels that have a name,
// as inspect.Channels returns them. It opens with a map: the stages of the program,
// which are functions that send and receive, the channels between them, and one
// sentence that names what holds the program back. Below is the list of channels.
//
// A [FlightRecorder] writes what the program did in the seconds before a value or a request
// took too long, for "sluice doctor".
//
// # Security
//
// Do not serve the page on an address that strangers can reach. It reveals the
// names of channels and their load, each open page costs CPU time, and there is
// no password: bind it to localhost, or put it behind a proxy that
// authenticates. The page never shows a value and changes nothing. It loads
// nothing from other hosts and runs no script but its own
// (Content-Security-Policy).
//
// A request whose Host is a name other than localhost is refused: otherwise a
// foreign web page, open in a browser that can reach the program,
// could read the answers by DNS rebinding. If the program is reached by a name,
// as inside a cluster, pass the name to [Register] or [Handler]:
//
//	livepage.Register(mux, "orders.prod.svc.cluster.local")
//
// IP addresses, and so the tunnel of kubectl port-forward, need no name. A guard
// against rebinding is no password: programs other than browsers send any Host
// that they like.
//
// # Queries
//
// A GET without a query returns the page. Each parameter may occur once:
//
//	format   html (the default), json, or events: the JSON once per second, as
//	         server-sent events; flow, the map: see below; css and js return the
//	         page's own files
//	flow     1 adds the map to json and events; does not combine with channel
//	channel  the ID of one channel: reports only that channel, with a snapshot of
//	         its waiters, rings and lanes; combines only with format
//	filter   only names that contain this string; case does not matter
//	kind     only rendezvous, bounded, elastic, aged, sharded, priority or delay channels, or other:
//	         kinds that are not part of package sluice
//	sort     id, name, kind, fill, len, sent, received, dropped, senders, receivers,
//	         oldestsender, oldestreceiver, oldestvalue, high, lanes or bytes; sent,
//	         received and dropped sort by rate
//	order    asc or desc; by default ids, names and kinds ascend, figures descend
//	page     the page number, from 1
//	size     channels per page: 1 to 200, 50 by default
//
// The JSON is a [Report]. An invalid query is answered with status 400 and one
// line that names the mistake, an unknown or garbage-collected channel with
// 404, a foreign Host with 403, a method other than GET with 405, and the 65th
// concurrent stream with 503.
//
// # The map
//
// format=flow answers a [Flow]: the stages of the program, which are the functions
// that send into named channels and receive from them, the channels between them,
// and one sentence that names what holds the program back; if values are dropped elsewhere,
// another one says so:
//
//	parse is the slowest stage: lines is full, 3 senders wait; events is empty.
//
// The bottleneck is a stage that receives from a channel that backs up and sends
// into none that does: a stage whose output is full is held back itself. A channel
// backs up if senders wait for room, if it is almost full, if its values are old, or, last, if
// it drops values, which holds nothing back. If none does, the sentence names the stage that receivers wait
// for, or says that nothing moves, or that the service keeps up.
//
// A closure has the name of the function around it, and its line if that function has other
// stages: run (main.go:42).
//
// Stages are learned, not declared. A named channel samples the stacks of its
// callers: before a goroutine parks, in a few of many sends into a long queue, and
// in the first send and the first receive after each reading. So the first map may
// lack stages whose calls never wait; the next one has them. A stage is forgotten a
// minute after it was last seen, once others are seen on the same side of the
// channel. The subscriptions of a hub have its senders. Channels of other kinds, registered with
// inspect.Register, have no stages, and so have those whose functions are in libraries only: the
// map says which and why. The results
// of workers.Map have no name: the map shows the function that Map calls as the
// receiver of the jobs, and beside it, with a share of 0, the receiver of the results.
//
// # Cost
//
// A channel counts whether or not a page is open. While a page is open, or when
// JSON is requested, the handler reads the Stats of all named channels at most
// once per second, for all clients together; a request for one channel reads
// only that channel. With 10,000 channels this takes 0.4% to 0.7% of a core,
// depending on the sort order (BenchmarkUpdate without flow=1).
//
// An open page also asks for the map: that takes another 8 to 15 µs per channel with
// stages, once per second for all clients together. So with 10,000 channels in use the
// map takes about a tenth of a core (BenchmarkDraw, Intel Xeon 2.5 GHz VM with 2
// cores, Go 1.26.8, 2026-11-23).
//
// The table shows the cost of one value, from one goroutine to another,
// relative to a channel without a name: the median and the quartiles of 11
// rounds (BenchmarkChannel, GOMAXPROCS=2, AMD EPYC Zen 5 VM with 2 cores, Go
// 1.26.8, 2026-11-21). The open page was still without the map, which takes at most
// 15 µs per second for these channels:
//
//	            without a name  with a name       on an open page   its own page open
//	Rendezvous  146 ns          1.00 (0.98-1.02)  1.07 (1.05-1.07)  1.08 (1.06-1.09)
//	Bounded     19 ns           1.03 (0.99-1.07)  1.01 (0.98-1.03)  1.01 (1.00-1.04)
//	Sharded     59 ns           0.97 (0.95-1.04)  0.89 (0.86-0.94)  0.95 (0.87-1.05)
//
// The handler starts no goroutines of its own, except to call the Stats of a kind that is not
// part of package sluice, which is code of the program: a reading waits for these for a quarter
// of a second in all. A channel whose Stats has not returned by then, or has panicked, keeps the
// figures of its last answer, and its row says so. Stats is not called again before it has
// returned, and nothing else waits for it. A stream ends when its client
// disconnects, when the client reads nothing for ten seconds, or when
// [net/http.Server.Shutdown] is called.
//
// A sample of a call site takes 2 to 4 µs, and each side of a channel takes at most 250
// per second. A named channel keeps about 1 KB of call sites, and at most 32 KB.
//
// A handler keeps the figures of its last reading, about 350 bytes per channel.
// It does not keep channels reachable.
package livepage
