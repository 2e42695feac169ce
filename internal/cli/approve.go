package cli

import (
	"fmt"

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
	Decision string           `json:"decision"` // approved, rejected, changed or undecided
	Source   string           `json:"source"`
	Problem  string           `json:"problem,omitempty"` // why the entry can be neither approved nor used
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
	c, err := a.configuration(cmd.Context(), false, "")
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
		if chosen, err = a.chosenServers(c, names); err != nil {
			return err
		}
	}
	chosen, unusable := decidable(chosen, decision)
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
		word := string(decisions[i])
		if decisions[i] == approval.Undecided {
			word = "undecided"
		}
		about := approvalOutput{Name: s.Name, Decision: word, Source: s.Source.String(), Settings: []config.Setting{}}
		if s.Problem != nil {
			about.Problem = s.Problem.Error()
			if !a.json {
				a.note("error: %v", s.Problem)
			}
		} else {
			about.Settings = a.withFlags(config.ConsentSettings(s))
		}
		out.Servers = append(out.Servers, about)
	}
	if a.json {
		err = a.printJSON(out)
	} else {
		err = a.printApprovals(out, len(chosen) > 0)
	}
	if err == nil && unusable != nil {
		return told{configError(unusable)}
	}
	return err
}

// chosenServers are those of names that need a decision.
func (a *app) chosenServers(c *config.Config, names []string) ([]config.Server, error) {
	var chosen []config.Server
	for _, name := range names {
		s, err := only(c, name)
		switch {
		case err != nil:
			return nil, err
		case !approval.Needed(s):
			a.note("server %s comes from %s and needs no approval", line(s.Name, 64), s.Source)
		default:
			chosen = append(chosen, s)
		}
	}
	return chosen, nil
}

// decidable leaves out what cannot be approved, because it cannot be used as it stands, and gives the first reason.
func decidable(servers []config.Server, decision approval.Decision) (kept []config.Server, unusable error) {
	for _, s := range servers {
		if s.Problem != nil && decision == approval.Approved {
			if unusable == nil {
				unusable = s.Problem
			}
			continue
		}
		kept = append(kept, s)
	}
	return kept, unusable
}

func (a *app) printApprovals(out approveOutput, decided bool) error {
	if len(out.Servers) == 0 {
		a.note("no server of this directory's files needs an approval")
		return nil
	}
	for _, s := range out.Servers {
		decision := s.Decision
		switch {
		case s.Problem != "":
			decision = "cannot be used"
		case decision == string(approval.Changed):
			decision = "changed since it was decided about"
		}
		if err := a.print(fmt.Sprintf("%s: %s, from %s", line(s.Name, 64), decision, s.Source)); err != nil {
			return err
		}
		if decided {
			continue
		}
		var rows [][]cell
		for _, setting := range s.Settings {
			if setting.Source != "default" || setting.Name == "command" {
				rows = append(rows, []cell{{"  " + setting.Name, ""}, {setting.Value, styleBold}, {note(setting), styleRed}})
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

// note is what is said beside a setting.
func note(s config.Setting) string {
	if s.Note == "" {
		return ""
	}
	return "← " + s.Note
}
