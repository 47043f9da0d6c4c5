package measure

import "time"

// A Budget is the rule for measuring less when a run takes longer than planned, as beside
// other load. It reduces the rounds of the points that are left, for all entries of a point, so
// that their figures remain pairs.
type Budget struct {
	// Limit is the time for the whole run. A run of which each point has its least rounds
	// may still exceed it.
	Limit time.Duration
	// Least is the number of rounds that a point gets in any case, unless fewer are planned.
	Least int

	began   time.Time
	planned time.Duration // estimate of the points that are finished, with their rounds
}

// rounds returns the number of rounds of the first point of left, and whether that is less than
// planned. So far the run took longer than its estimate by some factor: it expects the same
// of the rest.
func (b *Budget) rounds(left []*Point) (rounds int, fewer bool) {
	if b.began.IsZero() {
		b.began = time.Now()
	}
	planned := left[0].Count
	elapsed := time.Since(b.began)
	needs := float64(Estimate(left))
	if b.planned > 0 {
		needs *= max(1, float64(elapsed)/float64(b.planned))
	}
	rounds = planned
	if has := float64(b.Limit - elapsed); needs > has {
		rounds = min(planned, max(b.Least, int(float64(planned)*has/needs)))
	}
	b.add(left[0], 0, rounds)
	return rounds, rounds < planned
}

// add counts rounds of a point. Additional ones take time too, and do not mean that the run is
// slow.
func (b *Budget) add(p *Point, from, to int) {
	b.planned += p.estimate(to)
	if from > 0 { // it is warm
		b.planned -= p.estimate(from)
	}
}

// estimate is Estimate of a point with this number of rounds.
func (p *Point) estimate(rounds int) time.Duration {
	point := *p
	point.Count = rounds
	return Estimate([]*Point{&point})
}
