package measure

import "time"

// A Pace is the rule for the rounds of a point: more than planned if its figures vary,
// fewer if the run takes longer than planned, as beside other load. All entries of a point
// have the same rounds, so that their figures remain pairs.
//
// Stopping as soon as an interval is narrow would favor lucky moments, so a point is checked
// only a few times, a third of the planned rounds apart.
type Pace struct {
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
	// Least, if not 0, limits the time of the run to 1+Share times Whole. Every point has at
	// least this number of rounds, or the planned number if that is smaller, so that a run
	// may still exceed the limit.
	Least int

	plannedTime, addedTime time.Duration // measured
	began                  time.Time
	estimated              time.Duration // of the points that are finished, with their rounds
}

// more returns the number of rounds to add to a point after done rounds.
func (p *Pace) more(outcome *Outcome, done int) int {
	planned := outcome.Point.Count
	if done == planned {
		p.plannedTime += outcome.timed()
	}
	rounds := min((planned+2)/3, p.Times*planned-done)
	if rounds <= 0 || done == 0 {
		return 0
	}
	takes := outcome.timed() / time.Duration(done) * time.Duration(rounds)
	if float64(p.addedTime+takes) > p.Share*float64(max(p.plannedTime, p.Whole/4)) || !p.Wide(outcome) {
		return 0
	}
	p.addedTime += takes
	return rounds
}

// rounds returns the number of rounds of the first point of left, at most as planned. So
// far the run took longer than its estimate by some factor: it expects the same of the rest.
func (p *Pace) rounds(left []*Point) int {
	planned := left[0].Count
	if p == nil || p.Least == 0 {
		return planned
	}
	if p.began.IsZero() {
		p.began = time.Now()
	}
	elapsed := time.Since(p.began)
	needs := float64(Estimate(left))
	if p.estimated > 0 {
		needs *= max(1, float64(elapsed)/float64(p.estimated))
	}
	rounds := planned
	if has := (1+p.Share)*float64(p.Whole) - float64(elapsed); needs > has {
		rounds = min(planned, max(p.Least, int(float64(planned)*has/needs)))
	}
	p.estimated += left[0].estimate(rounds)
	return rounds
}

// took counts additional rounds: they take time, and do not mean that the run is slow.
func (p *Pace) took(point *Point, from, to int) {
	p.estimated += point.estimate(to) - point.estimate(from)
}

// Steps returns the number of planned repetitions, which is the number of calls
// of Done unless the run is interrupted or points are run longer.
func Steps(points []*Point) int {
	steps := 0
	for _, point := range points {
		steps += point.Count * len(point.Entries)
	}
	return steps
}

// besidesTimed is the time of a repetition in addition to its target: the
// excess of the last pass, making and draining the channel, a garbage
// collection, reading the usage of the machine, and its part of saving the point.
// It is 3 to 8 ms with a target of 12 ms.
const besidesTimed = 6 * time.Millisecond

// Estimate returns the approximate duration of measuring the points, if none is
// run longer. It relies on the points' own estimates of a pass.
func Estimate(points []*Point) time.Duration {
	total := time.Duration(0)
	for _, point := range points {
		total += point.estimate(point.Count)
	}
	return total
}

// estimate is Estimate of a point with this number of rounds.
func (p *Point) estimate(rounds int) time.Duration {
	repetition := max(p.Target, p.Pass) + besidesTimed
	entry := time.Duration(rounds) * repetition
	if p.Target > 0 {
		entry += max(p.Pass, besidesTimed) // the warm-up pass
	}
	return time.Duration(len(p.Entries)) * entry
}
