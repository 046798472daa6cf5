"""Terminal view of a node and of a merchant service, from their public interfaces.

```text
HttpSource --> NodeSampler, ServiceSampler --> samples --> NodeModel, ServiceModel --> frame --> TopScreen
   I/O                                          data          pure: two samples        pure       terminal
```

All texts and numbers come from another machine. `Fields` checks types and ranges, `plain` removes what would control
the terminal, and frames consist of `rich.text.Text`, which has no markup.
"""
