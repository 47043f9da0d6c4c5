module github.com/sluice-go/sluice/bench/doctorlab

go 1.26.0

require (
	github.com/sluice-go/sluice v0.0.0
	github.com/sluice-go/sluice/bench v0.0.0
	golang.org/x/sync v0.24.0
)

replace (
	github.com/sluice-go/sluice => ../../
	github.com/sluice-go/sluice/bench => ../
)
