package compare

import "math"

// A UnitTally counts the points of one unit by verdict. Units are never
// combined: a time and a number of bytes have no mean.
type UnitTally struct {
	Unit        string          `json:"unit"`
	Points      int             `json:"points"`
	Counts      map[Verdict]int `json:"counts"`
	Regressions int             `json:"regressions"`
	// Most is the point with the largest change for each verdict except Same,
	// as an index in the comparison's points.
	Most map[Verdict]int `json:"most"`
	// Geomean is the geometric mean of NEW relative to OLD, minus 1, over all
	// points of the unit, whatever their verdict, as in benchstat. It is null
	// if any point changed from 0 or to 0.
	Geomean Fraction `json:"geomean"`
}

func tally(points []Point) (units []UnitTally) {
	index := map[string]int{}
	for i := range points {
		p := &points[i]
		at, ok := index[p.Unit]
		if !ok {
			at = len(units)
			index[p.Unit] = at
			units = append(units, UnitTally{Unit: p.Unit, Counts: map[Verdict]int{}, Most: map[Verdict]int{}})
		}
		u := &units[at]
		u.Points++
		u.Counts[p.Verdict]++
		if p.Regression {
			u.Regressions++
		}
		u.Geomean += logarithm(p.Change)
		if p.Verdict == Same || p.Change == 0 {
			continue
		}
		most, ok := u.Most[p.Verdict]
		if !ok || math.Abs(float64(p.Change)) > math.Abs(float64(points[most].Change)) {
			u.Most[p.Verdict] = i
		}
	}
	for i := range units {
		u := &units[i]
		u.Geomean = Fraction(math.Exp(float64(u.Geomean)/float64(u.Points)) - 1)
	}
	return units
}

// logarithm returns the logarithm of NEW relative to OLD, or NaN.
func logarithm(change Fraction) Fraction {
	l := math.Log(float64(change) + 1)
	if math.IsInf(l, 0) {
		return Fraction(math.NaN())
	}
	return Fraction(l)
}
