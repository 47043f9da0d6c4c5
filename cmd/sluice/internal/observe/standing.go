package observe

import "time"

// A Standing is goroutines with one stack in dumps, as far as functions of the program are
// on it: what a deadlock, a leak, an exhausted pool or an idle pool looks like. Goroutines
// that run or wait for the outside have rows too, because they may do anything next.
type Standing struct {
	Role int // index of Observation.Roles
	Node int // index of Observation.Nodes; -1 if unknown
	Line
	Count   int           // in the last dump
	Before  int           // in the first dump; -1 with one dump
	Same    int           // of Count, those that are the same goroutine at the same place in both dumps; -1 with one dump
	Longest time.Duration // in whole minutes
	Forever bool          // a nil channel, or a select without cases
	Leaked  int           // of Count, proved by the collector
	Moves   bool          // they run, sleep, or wait for the network, a disk or a child process
	Main    bool          // the main goroutine is one of them

	// Orphans are those of Count whose creator will not receive what they send: it has
	// ended, or left the function that started them, or it sends or waits for a lock. The
	// main goroutine never leaves. 0 if unknown.
	Orphans int

	// Holds are the locks and slots that these goroutines hold while they stand here, by
	// the frames below: a method that locks and is still on the stack.
	Holds []Hold
	// Through are the functions of the program on the stack, the innermost first.
	Through []Frame
	By      Frame // where they were started
	// Around are the packages and owners of Through, and the package of By if it is of the
	// program: goroutines that share a channel mostly share one.
	Around []string
}

// A Hold is something that a goroutine holds while it waits, judging from its stack.
type Hold struct {
	Node int // index of Observation.Nodes
	At   Frame
}
