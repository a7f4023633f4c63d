//! Decides which tokens exist and how error messages call them.

macro_rules! tokens {
    ($($(#[$doc:meta])* $token:ident $text:literal)*) => {
        /// A lexical token.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the names are the tokens")]
        pub enum Token {
            $($(#[$doc])* $token,)*
        }

        impl Token {
            const ALL: &[Self] = &[$(Self::$token),*];

            /// The token's text, or its description if it has many texts.
            pub fn text(self) -> &'static str {
                match self {
                    $(Self::$token => $text,)*
                }
            }
        }
    };
}

tokens! {
    Illegal "illegal token"
    Eof "end of file"
    Newline "newline"
    Indent "indent"
    Outdent "outdent"
    Ident "identifier"
    Int "int literal"
    Float "float literal"
    String "string literal"
    // The reference has no description for bytes literals.
    Bytes ""
    Plus "+"
    Minus "-"
    Star "*"
    Slash "/"
    SlashSlash "//"
    Percent "%"
    Amp "&"
    Pipe "|"
    Circumflex "^"
    LtLt "<<"
    GtGt ">>"
    Tilde "~"
    Dot "."
    Comma ","
    Eq "="
    Semi ";"
    Colon ":"
    LParen "("
    RParen ")"
    LBrack "["
    RBrack "]"
    LBrace "{"
    RBrace "}"
    Lt "<"
    Gt ">"
    Ge ">="
    Le "<="
    Eql "=="
    Neq "!="
    PlusEq "+="
    MinusEq "-="
    StarEq "*="
    SlashEq "/="
    SlashSlashEq "//="
    PercentEq "%="
    AmpEq "&="
    PipeEq "|="
    CircumflexEq "^="
    LtLtEq "<<="
    GtGtEq ">>="
    StarStar "**"
    And "and"
    Break "break"
    Continue "continue"
    Def "def"
    Elif "elif"
    Else "else"
    For "for"
    If "if"
    In "in"
    Lambda "lambda"
    Load "load"
    Not "not"
    /// `not in`, which the parser makes of two tokens.
    NotIn "not in"
    Or "or"
    Pass "pass"
    Return "return"
    While "while"
}

impl Token {
    fn of_text(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.text() == text)
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
        let is_augmented = (Token::PlusEq as u8..=Token::GtGtEq as u8).contains(&(self as u8));
        Token::of_text(self.text().strip_suffix('=').filter(|_| is_augmented)?)
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
        match word {
            "as" | "async" | "await" | "class" | "del" | "except" | "finally" | "from"
            | "global" | "import" | "is" | "nonlocal" | "raise" | "try" | "with" | "yield" => {
                Some(Token::Illegal)
            }
            _ => Token::of_text(word).filter(|it| *it as u8 >= Token::And as u8),
        }
    }
}
