//! How a builtin lists its arguments: once, as the fields of a struct.

use builtins_language::{Args, EvalResult, Evaluator};

/// The arguments of a builtin; [`arguments!`] declares them.
pub(super) trait Arguments<'v>: Default {
    /// Takes those of a call; what is not given stays as it is.
    fn bind(&mut self, eval: &mut Evaluator<'v, '_, '_>, args: &Args<'v>) -> EvalResult<()>;

    /// Those of a call, with the default of its type for each that is not given.
    fn unpack(eval: &mut Evaluator<'v, '_, '_>, args: &Args<'v>) -> EvalResult<Self> {
        let mut given = Self::default();
        given.bind(eval, args)?;
        Ok(given)
    }
}

/// Declares a struct of arguments in the order of the call: `field: Type = "name?"`, with the name as
/// [`Args::unpack`] reads it.
macro_rules! arguments {
    (struct $name:ident $(<$v:lifetime>)? { $($field:ident: $ty:ty = $param:literal,)* }) => {
        #[derive(Default)]
        struct $name $(<$v>)? {
            $($field: $ty,)*
        }

        impl<'v> $crate::api::arguments::Arguments<'v> for $name $(<$v>)? {
            fn bind(
                &mut self,
                eval: &mut builtins_language::Evaluator<'v, '_, '_>,
                args: &builtins_language::Args<'v>,
            ) -> builtins_language::EvalResult<()> {
                args.unpack(eval, &mut [$(($param, &mut self.$field)),*])
            }
        }
    };
}

pub(super) use arguments;
