package measure

import "time"

// Longer is the rule by which points are run longer than planned. Rounds are added
// for all entries of a point, so that its figures stay in pairs.
//
// A rule that stops when an interval is narrow stops at lucky moments too; so a
// point is asked about a few times only, a third of the planned rounds apart.
type Longer struct {
	// Wide is asked after the planned rounds, and after each addition, whether the
	// point needs more.
	Wide func(*Outcome) bool
	// Times bounds the rounds of a point, to so many times the planned ones.
	Times int
	// Share bounds the time added to all points so far, to this share of the time
	// that their planned rounds took. A noisy point lives on what quiet ones left,
	// and the first ones on a loan: a quarter of what Whole, the estimated time of
	// all points, allows.
	Share float64
	Whole time.Duration

	plannedTime, addedTime time.Duration
}

// more returns how many rounds to add to a point that has done so many.
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
