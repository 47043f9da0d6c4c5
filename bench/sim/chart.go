package sim

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The chart's size and margins, in pixels, and its range of ns per value.
const (
	chartWidth, chartHeight = 720, 440
	chartLeft, chartRight   = 60, 230
	chartTop, chartBottom   = 50, 50
	leastNs, mostNs         = 0.1, 1e4
)

// charted are the contenders in the chart, with their colors.
var charted = []struct{ contender, color string }{
	{"Elastic", "#b3261e"},
	{"fixed lane, short-lived senders", "#b26a00"},
	{"fixed lane", "#7a7a00"},
	{"Sharded, short-lived senders", "#00796b"},
	{"Sharded", "#1565c0"},
	{"a Lane per sender, runs", "#6a1b9a"},
}

// Chart draws the time per value with as many receivers as senders: the medians, and as
// bands the ranges of all machines.
func Chart(forecasts []Forecast) string {
	var settings []Setting
	for _, s := range Settings() {
		if !s.OneReceiver {
			settings = append(settings, s)
		}
	}
	x := func(cpus int) float64 {
		first, last := math.Log(float64(settings[0].CPUs)), math.Log(float64(settings[len(settings)-1].CPUs))
		return chartLeft + (chartWidth-chartLeft-chartRight)*(math.Log(float64(cpus))-first)/(last-first)
	}
	y := func(ns float64) float64 {
		ns = min(max(ns, leastNs), mostNs)
		return chartTop + (chartHeight-chartTop-chartBottom)*math.Log(mostNs/ns)/math.Log(mostNs/leastNs)
	}
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="sans-serif" font-size="12" fill="#222">`+"\n", chartWidth, chartHeight, chartWidth, chartHeight)
	svg.WriteString("<title>Simulated time per value on 4 to 128 CPUs</title>\n")
	fmt.Fprintf(&svg, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", chartWidth, chartHeight)
	svg.WriteString(`<text x="12" y="20" font-size="14">Simulated, not measured: nanoseconds per value, as many receivers as senders</text>` + "\n")
	svg.WriteString(`<text x="12" y="38" fill="#555">lines: medians of the fitted machines; bands: their range; both scales are logarithmic</text>` + "\n")
	axes(&svg, settings, x, y)
	last := settings[len(settings)-1]
	lowest := math.Inf(-1) // y of the label above
	for _, c := range charted {
		var upper, lower, middle []string
		for _, s := range settings {
			ns := Of(forecasts, c.contender, s).Ns
			upper = append(upper, fmt.Sprintf("%.1f,%.1f", x(s.CPUs), y(slices.Max(ns))))
			lower = append(lower, fmt.Sprintf("%.1f,%.1f", x(s.CPUs), y(slices.Min(ns))))
			middle = append(middle, fmt.Sprintf("%.1f,%.1f", x(s.CPUs), y(Quantile(ns, 0.5))))
		}
		slices.Reverse(lower)
		fmt.Fprintf(&svg, `<polygon points="%s" fill="%s" fill-opacity="0.10"/>`+"\n", strings.Join(append(upper, lower...), " "), c.color)
		fmt.Fprintf(&svg, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(middle, " "), c.color)
		lowest = max(y(Quantile(Of(forecasts, c.contender, last).Ns, 0.5))+4, lowest+16)
		fmt.Fprintf(&svg, `<text x="%d" y="%.1f" fill="%s">%s</text>`+"\n", chartWidth-chartRight+8, lowest, c.color, c.contender)
	}
	svg.WriteString("</svg>\n")
	return svg.String()
}

// axes draws the grid and its labels.
func axes(svg *strings.Builder, settings []Setting, x func(int) float64, y func(float64) float64) {
	for ns := leastNs; ns <= mostNs*1.01; ns *= 10 {
		fmt.Fprintf(svg, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/>`, chartLeft, chartWidth-chartRight, y(ns), y(ns))
		fmt.Fprintf(svg, `<text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n", chartLeft-8, y(ns)+4, math.Round(ns*10)/10)
	}
	for _, s := range settings {
		fmt.Fprintf(svg, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", x(s.CPUs), chartHeight-chartBottom+20, s.CPUs)
	}
	fmt.Fprintf(svg, `<text x="%d" y="%d" text-anchor="middle">CPUs</text>`+"\n", (chartWidth-chartRight+chartLeft)/2, chartHeight-12)
}
