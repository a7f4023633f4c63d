//! Decides which tokens exist and how error messages call them.

/// A lexical token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the tokens")]
pub enum Token {
    Illegal,
    Eof,
    Newline,
    Indent,
    Outdent,
    Ident,
    Int,
    Float,
    String,
    Bytes,
    Plus,
    Minus,
    Star,
    Slash,
    SlashSlash,
    Percent,
    Amp,
    Pipe,
    Circumflex,
    LtLt,
    GtGt,
    Tilde,
    Dot,
    Comma,
    Eq,
    Semi,
    Colon,
    LParen,
    RParen,
    LBrack,
    RBrack,
    LBrace,
    RBrace,
    Lt,
    Gt,
    Ge,
    Le,
    Eql,
    Neq,
    PlusEq,
    MinusEq,
    StarEq,
    SlashEq,
    SlashSlashEq,
    PercentEq,
    AmpEq,
    PipeEq,
    CircumflexEq,
    LtLtEq,
    GtGtEq,
    StarStar,
    And,
    Break,
    Continue,
    Def,
    Elif,
    Else,
    For,
    If,
    In,
    Lambda,
    Load,
    Not,
    /// `not in`, which the parser makes of two tokens.
    NotIn,
    Or,
    Pass,
    Return,
    While,
}

impl Token {
    /// The token's text, or its description if it has many texts.
    pub fn text(self) -> &'static str {
        match self {
            Token::Illegal => "illegal token",
            Token::Eof => "end of file",
            Token::Newline => "newline",
            Token::Indent => "indent",
            Token::Outdent => "outdent",
            Token::Ident => "identifier",
            Token::Int => "int literal",
            Token::Float => "float literal",
            Token::String => "string literal",
            // The reference has no description for bytes literals.
            Token::Bytes => "",
            Token::Plus => "+",
            Token::Minus => "-",
            Token::Star => "*",
            Token::Slash => "/",
            Token::SlashSlash => "//",
            Token::Percent => "%",
            Token::Amp => "&",
            Token::Pipe => "|",
            Token::Circumflex => "^",
            Token::LtLt => "<<",
            Token::GtGt => ">>",
            Token::Tilde => "~",
            Token::Dot => ".",
            Token::Comma => ",",
            Token::Eq => "=",
            Token::Semi => ";",
            Token::Colon => ":",
            Token::LParen => "(",
            Token::RParen => ")",
            Token::LBrack => "[",
            Token::RBrack => "]",
            Token::LBrace => "{",
            Token::RBrace => "}",
            Token::Lt => "<",
            Token::Gt => ">",
            Token::Ge => ">=",
            Token::Le => "<=",
            Token::Eql => "==",
            Token::Neq => "!=",
            Token::PlusEq => "+=",
            Token::MinusEq => "-=",
            Token::StarEq => "*=",
            Token::SlashEq => "/=",
            Token::SlashSlashEq => "//=",
            Token::PercentEq => "%=",
            Token::AmpEq => "&=",
            Token::PipeEq => "|=",
            Token::CircumflexEq => "^=",
            Token::LtLtEq => "<<=",
            Token::GtGtEq => ">>=",
            Token::StarStar => "**",
            Token::And => "and",
            Token::Break => "break",
            Token::Continue => "continue",
            Token::Def => "def",
            Token::Elif => "elif",
            Token::Else => "else",
            Token::For => "for",
            Token::If => "if",
            Token::In => "in",
            Token::Lambda => "lambda",
            Token::Load => "load",
            Token::Not => "not",
            Token::NotIn => "not in",
            Token::Or => "or",
            Token::Pass => "pass",
            Token::Return => "return",
            Token::While => "while",
        }
    }

    /// The token as error messages show it: punctuation is quoted.
    pub fn described(self) -> String {
        if (Token::Plus as u8..=Token::StarStar as u8).contains(&(self as u8)) {
            format!("'{}'", self.text())
        } else {
            self.text().to_owned()
        }
    }

    /// The binary operator of an augmented assignment.
    pub fn augmented(self) -> Option<Token> {
        Some(match self {
            Token::PlusEq => Token::Plus,
            Token::MinusEq => Token::Minus,
            Token::StarEq => Token::Star,
            Token::SlashEq => Token::Slash,
            Token::SlashSlashEq => Token::SlashSlash,
            Token::PercentEq => Token::Percent,
            Token::AmpEq => Token::Amp,
            Token::PipeEq => Token::Pipe,
            Token::CircumflexEq => Token::Circumflex,
            Token::LtLtEq => Token::LtLt,
            Token::GtGtEq => Token::GtGt,
            _ => return None,
        })
    }

    /// The level of a binary operator, 0 binding least.
    pub fn precedence(self) -> Option<u8> {
        Some(match self {
            Token::Or => 0,
            Token::And => 1,
            // Unary only, but the reference counts it as a level of its own.
            Token::Not => 2,
            Token::Eql
            | Token::Neq
            | Token::Lt
            | Token::Gt
            | Token::Le
            | Token::Ge
            | Token::In
            | Token::NotIn => 3,
            Token::Pipe => 4,
            Token::Circumflex => 5,
            Token::Amp => 6,
            Token::LtLt | Token::GtGt => 7,
            Token::Minus | Token::Plus => 8,
            Token::Star | Token::Percent | Token::Slash | Token::SlashSlash => 9,
            _ => return None,
        })
    }

    /// The keyword, or the reserved and therefore illegal word, that `word` is.
    pub fn keyword(word: &str) -> Option<Token> {
        Some(match word {
            "and" => Token::And,
            "break" => Token::Break,
            "continue" => Token::Continue,
            "def" => Token::Def,
            "elif" => Token::Elif,
            "else" => Token::Else,
            "for" => Token::For,
            "if" => Token::If,
            "in" => Token::In,
            "lambda" => Token::Lambda,
            "load" => Token::Load,
            "not" => Token::Not,
            "or" => Token::Or,
            "pass" => Token::Pass,
            "return" => Token::Return,
            "while" => Token::While,
            "as" | "async" | "await" | "class" | "del" | "except" | "finally" | "from"
            | "global" | "import" | "is" | "nonlocal" | "raise" | "try" | "with" | "yield" => {
                Token::Illegal
            }
            _ => return None,
        })
    }
}
