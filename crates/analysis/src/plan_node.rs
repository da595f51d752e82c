//! The common part of plan nodes that only look at the rows of their one input.

/// Writes the part of `ExecutionPlan` that is the same for nodes which pass on the rows of their `input`
/// in the same order and evaluate no expressions. Each has a `with_input` beside it, which returns the
/// same node above another input.
macro_rules! passes_rows_on {
    ($name:literal) => {
        fn name(&self) -> &str {
            $name
        }

        fn maintains_input_order(&self) -> Vec<bool> {
            vec![true]
        }

        fn children(&self) -> Vec<&std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
            vec![&self.input]
        }

        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(
                &std::sync::Arc<dyn datafusion::physical_expr::PhysicalExpr>,
            ) -> datafusion::error::Result<
                datafusion::common::tree_node::TreeNodeRecursion,
            >,
        ) -> datafusion::error::Result<datafusion::common::tree_node::TreeNodeRecursion> {
            Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
        }

        fn with_new_children(
            self: std::sync::Arc<Self>,
            mut children: Vec<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>>,
        ) -> datafusion::error::Result<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>>
        {
            Ok(std::sync::Arc::new(self.with_input(children.swap_remove(0))))
        }
    };
}

pub(crate) use passes_rows_on;
