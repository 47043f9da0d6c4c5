// Package bench is where channels are compared. It has no code of its own; its
// benchmarks run every workload with every contender:
//
//	go test -bench . ./bench                      all, with the Go peers
//	go test -bench 'OneWay/8->1/1024' -cpu 1,2,8 ./bench
//
// A benchmark is named after workload, capacity and contender, and its ns/op is
// the time of one value, or of one round trip, without the making of channels
// and goroutines. A capacity means nothing to an unbounded contender, which
// appears at each of them.
//
// The rooms:
//
//	contender     every kind of channel behind one small interface
//	workload      the jobs, once for all contenders, with proof that they were done
//	peers         contenders made of other Go libraries; only who imports it compiles those
//	cmd/ratios    the table of floors and goals, measured side by side
//
// For a comparison use cmd/ratios, whose contenders take turns: benchmarks run
// one contender after the other, and a machine that slows down in between tells
// a wrong story. A timer is pending while cmd/ratios measures, its watchdog: so
// the scheduler reads the clock at each switch between goroutines, as it does in
// any service that has a timer. With one P that costs 30 of 160 ns a rendezvous.
package bench
