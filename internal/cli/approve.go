package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-mcp/usher/config"
	"github.com/usher-mcp/usher/internal/approval"
)

// approveOutput is what `usher approve --json` prints: the servers that need a decision, as they now stand.
type approveOutput struct {
	Project string           `json:"project"`
	Servers []approvalOutput `json:"servers"`
}

type approvalOutput struct {
	Name     string           `json:"name"`
	Decision string           `json:"decision"` // approved, rejected or undecided
	Source   string           `json:"source"`
	Settings []config.Setting `json:"settings"`
}

func newApproveCommand(a *app) *cobra.Command {
	var all, reject, forget bool
	cmd := &cobra.Command{
		Use:   "approve [NAME… | --all]",
		Short: "Show what the servers of this project's files would run, and allow them to",
		Long: `Servers of a usher.json or .mcp.json that lies in the current directory start only after they were
approved. Without a name, this shows what each of them would run. An approval holds for this directory and for
the entry as it is written; a changed entry has to be approved again.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return usageError(cmd, "names and --all cannot be given together")
			case reject && forget:
				return usageError(cmd, "--reject and --forget cannot be given together")
			case (reject || forget) && !all && len(args) == 0:
				return usageError(cmd, "NAME is missing")
			}
			decision := approval.Approved
			switch {
			case reject:
				decision = approval.Rejected
			case forget:
				decision = approval.Undecided
			}
			return a.approve(cmd, args, all, decision)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all servers of this project")
	cmd.Flags().BoolVar(&reject, "reject", false, "reject them instead")
	cmd.Flags().BoolVar(&forget, "forget", false, "forget the decision about them instead")
	return cmd
}

func (a *app) approve(cmd *cobra.Command, names []string, all bool, decision approval.Decision) error {
	c, err := a.configuration(false)
	if err != nil {
		return err
	}
	a.noteProblems(c, "")
	store, project, err := a.approvals()
	if err != nil {
		return err
	}
	var needing []config.Server
	for _, s := range c.Servers {
		if approval.Needed(s) {
			needing = append(needing, s)
		}
	}
	chosen := needing
	if !all {
		chosen = nil
		for _, name := range names {
			s, err := only(c, name)
			if err != nil {
				return err
			}
			if !approval.Needed(s) {
				a.note("server %s comes from %s and needs no approval", s.Name, s.Source)
				continue
			}
			chosen = append(chosen, s)
		}
	}
	if len(chosen) > 0 {
		if err := store.Decide(cmd.Context(), project, decision, chosen...); err != nil {
			return err
		}
	}
	decisions, err := store.Lookup(project, needing...)
	if err != nil {
		return err
	}
	out := approveOutput{Project: project, Servers: []approvalOutput{}}
	for i, s := range needing {
		if s.Problem != nil && !a.json {
			a.note("error: %v", s.Problem)
		}
		word := string(decisions[i])
		if decisions[i] == approval.Undecided {
			word = "undecided"
		}
		out.Servers = append(out.Servers, approvalOutput{Name: s.Name, Decision: word, Source: s.Source.String(), Settings: a.settings(s)})
	}
	if a.json {
		return a.printJSON(out)
	}
	return a.printApprovals(out, len(chosen) > 0)
}

func (a *app) printApprovals(out approveOutput, decided bool) error {
	if len(out.Servers) == 0 {
		a.note("no server of this directory's files needs an approval")
		return nil
	}
	for _, s := range out.Servers {
		if err := a.print(fmt.Sprintf("%s: %s, from %s", line(s.Name, 64), s.Decision, s.Source)); err != nil {
			return err
		}
		if decided {
			continue
		}
		var rows [][]cell
		for _, setting := range s.Settings {
			if setting.Source != "default" || setting.Name == "command" {
				rows = append(rows, []cell{{"  " + setting.Name, ""}, {strings.TrimSpace(printable(setting.Value)), styleBold}})
			}
		}
		if err := a.table(rows); err != nil {
			return err
		}
	}
	if !decided {
		a.note("to allow them: usher approve NAME… (or --all); to refuse: usher approve --reject NAME…")
	}
	return nil
}
