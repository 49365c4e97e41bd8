# Writes lme4.csv: the variance components by which test_components.py checks ours.
# R 4.2.2, lme4 1.1-31:  Rscript lme4.R
suppressMessages(library(lme4))
all <- read.csv("ratings.csv")
for (name in c("item", "persona", "model", "replicate")) all[[name]] <- factor(all[[name]])
# Where every cell has a rating and no component is negative, restricted likelihood is analysis
# of variance. lme4 finds its maximum to few digits unless it is told otherwise.
exact <- lmerControl(
  optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e6),
  check.conv.singular = "ignore", check.conv.grad = "ignore", check.conv.hess = "ignore"
)
found <- function(design, data, formula) {
  parts <- as.data.frame(VarCorr(lmer(formula, data, control = exact)))
  data.frame(design = design, effect = sub("Residual", "residual", parts$grp), variance = parts$vcov)
}
two <- score ~ (1 | item) + (1 | persona) + (1 | model) +
  (1 | item:persona) + (1 | item:model) + (1 | persona:model)
three <- update(two, ~ . + (1 | item:persona:model))
once <- all[all$replicate == "0", ]
write.csv(
  rbind(found("replicates", all, three), found("once", once, two)),
  "lme4.csv", row.names = FALSE, quote = FALSE
)
