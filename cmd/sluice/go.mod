module github.com/sluice-go/sluice/cmd/sluice

go 1.26

require (
	github.com/sluice-go/sluice v0.0.0
	github.com/sluice-go/sluice/bench v0.0.0
)

replace (
	github.com/sluice-go/sluice => ../../
	github.com/sluice-go/sluice/bench => ../../bench
)
