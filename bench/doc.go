// Package bench compares channels. It contains no code besides benchmarks,
// which run every workload with every contender:
//
//	go test -bench . ./bench                      all, including the Go peers
//	go test -bench 'OneWay/8->1/1024' -cpu 1,2,8 ./bench
//
// The name of a benchmark consists of workload, capacity and contender. Its
// ns/op is the time per value, or per round trip, without the creation of
// channels and goroutines. Unbounded contenders ignore the capacity and appear
// at each of them.
//
// The folders:
//
//	contender     every kind of channel behind one small interface
//	workload      the jobs, written once for all contenders, with proof that they were done
//	peers         contenders made from other Go libraries; only its importers compile them
//	paced         a load at a given rate, for channels that are not busy
//	cmd/ratios    the table of floors and goals, measured side by side
//	cmd/paced     CPU time and delays at a given rate, measured side by side
//
// Use cmd/ratios for comparisons. Its contenders take turns, while benchmarks
// run one contender after the other, and a machine that slows down in between
// distorts the result. While cmd/ratios measures, its watchdog timer is
// pending, so the scheduler reads the clock at each goroutine switch, as in any
// service that has a timer. With one P this costs 30 of 160 ns per rendezvous.
package bench
