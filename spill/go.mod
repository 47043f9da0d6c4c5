module github.com/sluice-go/sluice/spill

go 1.25.0

require (
	github.com/sluice-go/sluice v0.0.0
	golang.org/x/sys v0.45.0
)

replace github.com/sluice-go/sluice => ../
