package measure

import "time"

// Longer is the rule for running points longer than planned. It adds rounds for
// all entries of a point, so that their figures remain pairs.
//
// Stopping as soon as an interval is narrow would favor lucky moments, so
// Longer checks a point only a few times, a third of the planned rounds apart.
type Longer struct {
	// Wide reports whether a point needs more rounds. It is called after the
	// planned rounds and after each addition.
	Wide func(*Outcome) bool
	// Times limits the rounds of a point to a multiple of the planned ones.
	Times int
	// Share limits the time added to all points so far to a share of the time
	// of their planned rounds. A noisy point uses the time that quiet points
	// did not need. The first points have an advance: a quarter of the share of
	// Whole, the estimated time of all points.
	Share float64
	Whole time.Duration

	plannedTime, addedTime time.Duration
}

// more returns the number of rounds to add to a point after done rounds.
func (l *Longer) more(outcome *Outcome, done int) int {
	planned := outcome.Point.Count
	rounds := min((planned+2)/3, l.Times*planned-done)
	if rounds <= 0 || done == 0 {
		return 0
	}
	takes := outcome.timed() / time.Duration(done) * time.Duration(rounds)
	if float64(l.addedTime+takes) > l.Share*float64(max(l.plannedTime, l.Whole/4)) || !l.Wide(outcome) {
		return 0
	}
	l.addedTime += takes
	return rounds
}
