// Package bench compares channels. It contains no code besides benchmarks of single
// features:
//
//	go test -bench . ./bench
//
// The folders:
//
//	board         the speed board: ours beside other libraries, busy and idle; and the floors
//	contender     every kind of channel, as the loops of its users
//	workload      the jobs, written once for all contenders, with proof that they were done
//	peers         contenders made from other Go libraries; only its importers compile them
//	paced         a load at a given rate, for channels that are not busy
//	command       the command lines of the programs
//	results       the stored figures of the board, and the description of a host
//	rust          channels of Rust
//
// Use the board for comparisons. Its contenders take turns, each in a process of its own,
// while benchmarks run one after the other, and a machine that slows down in between
// distorts the result.
package bench
