module github.com/sluice-go/sluice/cmd/sluice

go 1.26.0

require (
	github.com/alecthomas/kong v1.17.0
	github.com/clipperhouse/displaywidth v0.11.0
	github.com/gdamore/tcell/v3 v3.6.0
	github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe
	github.com/schollz/progressbar/v3 v3.19.1
	github.com/sluice-go/sluice v0.0.0
	github.com/sluice-go/sluice/bench v0.0.0
	golang.org/x/exp v0.0.0-20261014143641-f0251eb4aa3e
	golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da
	golang.org/x/sys v0.49.0
	golang.org/x/term v0.47.0
	golang.org/x/text v0.42.0
)

require (
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/gdamore/encoding v1.0.1 // indirect
	github.com/lucasb-eyer/go-colorful v1.4.1 // indirect
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
)

replace (
	github.com/sluice-go/sluice => ../../
	github.com/sluice-go/sluice/bench => ../../bench
)

tool golang.org/x/perf/cmd/benchstat
