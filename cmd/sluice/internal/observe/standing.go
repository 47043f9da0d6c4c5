package observe

import "time"

// A Standing is goroutines with one stack in dumps, as far as functions of the program are
// on it: what a deadlock, a leak, an exhausted pool or an idle pool looks like. Goroutines
// that run or wait for the outside have rows too, because they may do anything next.
type Standing struct {
	Role int // index of Observation.Roles
	Node int // index of Observation.Nodes; -1 if unknown
	Line
	State   string
	Count   int           // in the last dump
	Before  int           // in the first dump; -1 with one dump
	Same    int           // of Count, those that are the same goroutine at the same place in both dumps; -1 with one dump
	Longest time.Duration // in whole minutes
	Forever bool          // a nil channel, or a select without cases
	Leaked  int           // of Count, proved by the collector
	Moves   bool          // they run, sleep, or wait for the network, a disk or a child process
	Main    bool          // the main goroutine is one of them
	Calls   bool          // the start function itself waits here: no other function of the program is on the stack

	// The following count goroutines of the last dump, judging from the numbers in
	// "created by". All are 0 if unknown.
	Creators int // distinct goroutines that started them
	Owned    int // of Count, started by the main goroutine, or by one that is still in the function that started them, and may receive
	Gone     int // of Count, started by a goroutine that has ended, and is not the main one

	// Holds are the locks and slots that these goroutines hold while they stand here, by
	// the frames below: a method that locks and is still on the stack.
	Holds []Hold
	// Through are the functions of the program on the stack, the innermost first.
	Through []Frame
	By      Frame // where they were started
}

// A Hold is something that a goroutine holds while it waits, judging from its stack.
type Hold struct {
	Node int // index of Observation.Nodes
	At   Frame
}
