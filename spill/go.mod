module github.com/sluice-go/sluice/spill

go 1.25

require github.com/sluice-go/sluice v0.0.0

replace github.com/sluice-go/sluice => ../
