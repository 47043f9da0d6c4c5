package sim

import "strings"

// workloads are the published workloads that the model has programs for. The first
// entry whose words are all in the curve's version and workload applies.
var workloads = []struct {
	words    string
	name     string
	programs func(cores int, work float64) []Program
}{
	{"tristate MutexContention", "runtime lock, Go 1.23", lockPrograms(func() Lock { return newTristate() })},
	{"spinbit MutexContention", "runtime lock, Go 1.24", lockPrograms(func() Lock { return &spinbitLock{} })},
	{"spinbit MutexCapture", "runtime lock, Go 1.24", lockPrograms(func() Lock { return &spinbitLock{} })},
	{"nospinbitmutex ChanContended", "chan, Go 1.23", chanContended(func() Lock { return newTristate() }, 100, 2)},
	{"spinbit ChanContended", "chan, Go 1.24", chanContended(func() Lock { return &spinbitLock{} }, 100, 2)},
	{"old mutex ChanContended", "chan, lock of 2011", chanContended(func() Lock { return &sleepingLock{} }, 1, 1)},
	{"ChanContended", "chan, Go 1.23", chanContended(func() Lock { return newTristate() }, 1, 1)},
	{"native chan, per message", "chan, Go 1.23", chanContended(func() Lock { return newTristate() }, 1, 1)},
	{"ChanProdCons", "chan, Go 1.23", chanExchange},
	{"AtomicInt64 add", "fetch-and-add", addPrograms},
	{"atomic add", "fetch-and-add", addPrograms},
	{"cas add", "compare-and-swap", casPrograms},
	{"CAS increment", "compare-and-swap", casPrograms},
	{"striped Counter", "private words", privatePrograms},
	{"cas multi", "private words", privatePrograms},
	{"pure spin", "exchange lock", lockPrograms(func() Lock { return &exchangeLock{} })},
	{"ticket spin", "ticket lock", lockPrograms(func() Lock { return &ticketLock{} })},
	{"mutex add", "sleeping lock", lockPrograms(func() Lock { return &sleepingLock{} })},
	{"futex mutex", "sleeping lock", lockPrograms(func() Lock { return newTristate() })},
	{"parking_lot", "sleeping lock", lockPrograms(func() Lock { return newTristate() })},
	{"FAA+turn cell", "FAA ring", ring(func(work float64) channel { return newTurnRing(false, 1024, 1, work) })},
	{"OptimistAtomicQueue", "FAA ring", ring(func(work float64) channel { return newTurnRing(false, 1024, 1, work) })},
	{"vyukov_bounded_queue", "CAS ring", ring(func(work float64) channel { return newTurnRing(true, 1024, 4, work) })},
	{"pthread_spinlock", "spin lock ring", ring(func(work float64) channel { return newLockedRing(&spinLock{}, 64, work) })},
	{"std::mutex", "sleeping lock ring", ring(func(work float64) channel { return newLockedRing(&sleepingLock{}, 64, work) })},
	{"moodycamel", "lane per sender", func(cores int, work float64) []Program {
		return newLanesQueue(max(1, cores/2), work).programs(max(1, cores/2))
	}},
}

// programsOf returns the programs for a curve and the name of their design, or nil.
func programsOf(c *Curve) (name string, programs func(cores int, work float64) []Program) {
	text := c.Version + " " + c.Workload
	for _, w := range workloads {
		all := true
		for word := range strings.SplitSeq(w.words, " ") {
			all = all && strings.Contains(text, word)
		}
		if all {
			return w.name, w.programs
		}
	}
	return "", nil
}

// chanContended is the benchmark of that name in package runtime: sends, then as many
// receives, in a channel with room for all goroutines. operations is what the author
// counts for the two.
func chanContended(newLock func() Lock, values, operations int) func(cores int, work float64) []Program {
	return func(cores int, work float64) []Program {
		return takeTurns(newNative(newLock(), values*cores, work), cores, values, operations)
	}
}

// chanExchange is ChanProdCons: senders and receivers on every CPU.
func chanExchange(cores int, work float64) []Program {
	return takeTurns(newNative(newTristate(), 100, work), cores, max(1, min(10, 100/cores)), 1)
}

// ring returns programs for as many senders as receivers.
func ring(newQueue func(work float64) channel) func(cores int, work float64) []Program {
	return func(cores int, work float64) []Program {
		q := newQueue(work)
		if cores == 1 {
			return takeTurns(q, 1, 1, 1)
		}
		return stream(q, cores/2, cores-cores/2)
	}
}
