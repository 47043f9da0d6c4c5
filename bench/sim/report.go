package sim

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// PrintScores prints how wrong the model is on published curves.
func PrintScores(w io.Writer, hosts []Host) {
	var factors, worst, pairs []float64
	fmt.Fprintln(w, "Factor between simulated and published time per operation. The transfer times of")
	fmt.Fprintln(w, "each machine are fitted to its other curves; the local work, to the curve's first")
	fmt.Fprintln(w, "point. Mean over the curve's points, and the largest; own: if the curve itself is")
	fmt.Fprintln(w, "fitted. Near and far are nanoseconds.")
	for _, h := range hosts {
		fmt.Fprintf(w, "\n%s: all its curves together near %.0f, far %.0f\n", h.Name, h.Best.Near, h.Best.Far)
		for _, s := range h.Scores {
			last := s.Points[len(s.Points)-1]
			fmt.Fprintf(w, "  %-22s %-44s mean %5.2f  largest %5.2f  own %5.2f  at %d CPUs %.0f for %.0f ns\n",
				s.Design, clip(s.Curve.Version+", "+s.Curve.Workload, 44), s.Factor, s.Worst, s.Own, last.CPUs, s.Ns[len(s.Ns)-1], last.Ns)
			factors = append(factors, s.Factor)
			worst = append(worst, s.Worst)
		}
		for _, c := range h.Skipped {
			fmt.Fprintf(w, "  no program for         %s\n", clip(c.Version+", "+c.Workload, 44))
		}
		pairs = append(pairs, h.Pairs...)
	}
	printDesigns(w, hosts)
	fmt.Fprintf(w, "\nAll %d curves: median of the means %.2f, 90%% within %.2f; of the largest %.2f, 90%% within %.2f.\n",
		len(factors), Quantile(factors, 0.5), Quantile(factors, 0.9), Quantile(worst, 0.5), Quantile(worst, 0.9))
	fmt.Fprintf(w, "Ratios of two curves of a machine, from 4 CPUs: %d, median factor %.2f, 90%% within %.2f.\n",
		len(pairs), Quantile(pairs, 0.5), Quantile(pairs, 0.9))
}

// printDesigns prints the error for each design.
func printDesigns(w io.Writer, hosts []Host) {
	var designs []string
	means, last := map[string][]float64{}, map[string]float64{}
	for _, h := range hosts {
		for _, s := range h.Scores {
			if means[s.Design] == nil {
				designs = append(designs, s.Design)
			}
			means[s.Design] = append(means[s.Design], s.Factor)
			last[s.Design] = max(last[s.Design], s.Factor)
		}
	}
	slices.Sort(designs)
	fmt.Fprintf(w, "\n%-24s %6s %8s %8s\n", "design", "curves", "median", "largest")
	for _, d := range designs {
		fmt.Fprintf(w, "%-24s %6d %8.2f %8.2f\n", d, len(means[d]), Quantile(means[d], 0.5), last[d])
	}
}

// clip shortens a text to at most n bytes.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.TrimSpace(text[:n-1]) + "…"
}

// PairError returns the factor within which 90% of the ratios of two curves are.
func PairError(hosts []Host) float64 {
	var pairs []float64
	for _, h := range hosts {
		pairs = append(pairs, h.Pairs...)
	}
	return Quantile(pairs, 0.9)
}

// Fitted returns the machine that fits each host best, one for each two transfer times.
func Fitted(hosts []Host) []Machine {
	var all []Machine
	for _, h := range hosts {
		same := func(m Machine) bool { return m.Near == h.Best.Near && m.Far == h.Best.Far }
		if h.Best.Domain > 0 && !slices.ContainsFunc(all, same) {
			all = append(all, h.Best)
		}
	}
	return all
}

// PrintForecasts prints, for each contender, the time per value and its ratio to the first
// contender of the same setting, each as median and range of all machines.
func PrintForecasts(w io.Writer, forecasts []Forecast, machines int) {
	for _, one := range []bool{false, true} {
		what := "as many receivers as senders"
		if one {
			what = "one receiver"
		}
		fmt.Fprintf(w, "\nNanoseconds per value, %s: median and range of %d machines\n%-34s", what, machines, "")
		for _, s := range Settings() {
			if s.OneReceiver == one {
				fmt.Fprintf(w, "%20d", s.CPUs)
			}
		}
		fmt.Fprintln(w)
		for _, c := range Contenders {
			fmt.Fprintf(w, "%-34s", c.Name)
			for _, s := range Settings() {
				if s.OneReceiver == one {
					ns := Of(forecasts, c.Name, s).Ns
					fmt.Fprintf(w, "%20s", fmt.Sprintf("%.3g (%.2g-%.2g)", Quantile(ns, 0.5), slices.Min(ns), slices.Max(ns)))
				}
			}
			fmt.Fprintln(w)
		}
	}
}

// comparisons are the questions that the forecasts should answer: by which factor the
// first contender is slower than the second.
var comparisons = []struct{ slower, faster string }{
	{"Elastic", "Sharded"},
	{"fixed lane", "Sharded"},
	{"fixed lane, moves if taken", "Sharded"},
	{"fixed lane, short-lived senders", "Sharded, short-lived senders"},
	{"Sharded", "a Lane per sender, runs"},
}

// PrintRatios prints by which factor designs differ, and marks the factors whose whole
// range is beyond the error of the model on ratios: only those carry a conclusion.
func PrintRatios(w io.Writer, forecasts []Forecast, within float64) {
	fmt.Fprintf(w, "\nTime per value of one design over another: median and range; * if the whole range\n")
	fmt.Fprintf(w, "is above %.1f, within which 90%% of the published ratios are\n", within)
	for _, one := range []bool{false, true} {
		fmt.Fprintf(w, "%-66s", map[bool]string{false: "as many receivers as senders", true: "one receiver"}[one])
		for _, s := range Settings() {
			if s.OneReceiver == one {
				fmt.Fprintf(w, "%20d", s.CPUs)
			}
		}
		fmt.Fprintln(w)
		for _, c := range comparisons {
			fmt.Fprintf(w, "%-66s", c.slower+" / "+c.faster)
			for _, s := range Settings() {
				if s.OneReceiver != one {
					continue
				}
				ratios := Of(forecasts, c.slower, s).Over(Of(forecasts, c.faster, s))
				mark := " "
				if slices.Min(ratios) > within {
					mark = "*"
				}
				fmt.Fprintf(w, "%20s", fmt.Sprintf("%.2g (%.2g-%.2g)%s", Quantile(ratios, 0.5), slices.Min(ratios), slices.Max(ratios), mark))
			}
			fmt.Fprintln(w)
		}
	}
}
