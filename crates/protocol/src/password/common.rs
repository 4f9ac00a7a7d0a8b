//! Common passwords, always refused (NIST SP 800-63B-4 §3.1.1.2, ASVS 6.2.4).
//!
//! Published lists have hardly any entry of 15 characters, but the ways in which people lengthen a password are
//! known: they repeat, append, or walk along the keyboard. So the list is generated from words and these habits, at
//! first use.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::LazyLock,
};

/// The shortest password any policy allows.
const MIN: usize = 8;
/// The longest entry made by repetition or a keyboard walk.
const MAX: usize = 48;

/// Sorted 64-bit hashes: a false match happens once in 10¹³ passwords.
static HASHES: LazyLock<Box<[u64]>> = LazyLock::new(|| {
    let mut hashes = Vec::new();
    generate(&mut |entry| {
        if entry.chars().count() >= MIN {
            hashes.push(hash(&entry));
        }
    });
    hashes.sort_unstable();
    hashes.dedup();
    hashes.into_boxed_slice()
});

/// Whether the whole password, in lower case and NFC, is common.
#[must_use]
pub fn contains(folded: &str) -> bool {
    HASHES.binary_search(&hash(folded)).is_ok()
}

/// Builds the list now rather than during a request.
pub fn prepare() {
    LazyLock::force(&HASHES);
}

fn hash(text: &str) -> u64 {
    // Fixed keys: the list is not secret, and no input chooses its buckets.
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The most common words: these are also joined in pairs.
const TOP: &str = "\
    password passwort senha qwerty admin welcome iloveyou monkey dragon letmein football baseball master \
    sunshine princess login shadow superman batman love abc123 abc 123 1234 12345 123456 12345678 secret \
    user test root hello teamo amor brasil jesus deus familia mudar segredo pass my new minha the guest \
    computer internet system server default change changeme access";

/// Words and names people choose, in English and Portuguese.
const WORDS: &str = "\
    passw0rd p@ssword p@ssw0rd pa$$word pa$$w0rd pass1234 password1 password123 mypassword newpassword \
    oldpassword thepassword adminpassword passphrase passcode administrator administrador superuser \
    usuario teste testing testtest example temporary temp temppassword qwerty123 qwertyuiop qwertz azerty \
    asdfgh asdfghjkl zxcvbn zxcvbnm qazwsx qazwsxedc 1q2w3e 1q2w3e4r 1q2w3e4r5t 1qaz2wsx q1w2e3r4 zaq12wsx \
    zaq1xsw2 qweasd qweasdzxc asdasd asd123 qwe123 a1b2c3 a1b2c3d4 aa123456 abcdef abcdefg abcd1234 abcabc \
    aabbcc letmein123 trustno1 opensesame abracadabra hunter2 changeit changethis enter letmeinnow \
    nopassword nothing whatever forgot iforgot idontknow security secure private unlock login123 admin123 \
    root123 minhasenha senha123 senha1234 senhaforte senhasegura suasenha novasenha senhanova mudarsenha \
    mudar123 trocarsenha trocar semsenha segura seguranca segurança acesso entrar entrada bemvindo \
    bem-vindo boasvindas cliente empresa sistema servidor computador palavrapasse palavra-passe contrasena \
    contraseña motdepasse ilove iloveu iloveme ilovegod ilovejesus lovely loveme lover lovelove forever \
    friends family mother father daddy mommy sister brother baby babygirl babyboy angel heart sweetheart \
    sweety honey kisses eutenho euteamo teadoro meuamor amorzinho amoreterno minhavida minhafamilia \
    meufilho minhafilha filhos mamae mamãe papai princesa gatinha gatinho saudade saudades coracao coração \
    felicidade paixao paixão parasempre vidanova vida querida querido linda lindo jesuscristo jesuschrist \
    deusefiel deuséfiel deuseamor deusnocomando jesusteama cristo christ blessed godisgood godislove \
    heaven church gloriaadeus senhor fe amem nossasenhora aparecida esperanca esperança michael jennifer \
    jessica ashley daniel david robert thomas charlie jordan andrew matthew joshua anthony christopher \
    christian nicole michelle amanda samantha hannah elizabeth william richard alexander alexandre \
    benjamin jonathan nicholas patrick victoria vanessa rebecca stephanie heather melissa justin brandon \
    george harley maggie ginger buster tigger pepper maria mariana joao joão jose josé antonio antónio \
    francisco carlos paulo pedro lucas luiz marcos luis gabriel gabriela rafael rafaela marcelo bruno \
    eduardo felipe rodrigo manuel mateus matheus andre fernando fernanda fabio leonardo gustavo guilherme \
    leandro tiago thiago anderson ricardo jorge alessandro roberto sergio diego juliana marcia patricia \
    aline sandra camila bruna leticia julia luciana vitoria vitória larissa beatriz carolina isabela \
    isabella natalia claudia adriana daniela renata cristina vinicius henrique caroline sophia miguel \
    arthur soccer hockey basketball softball volleyball liverpool chelsea arsenal barcelona realmadrid \
    manchester manchesterunited juventus yankees cowboys steelers lakers eagles flamengo corinthians \
    palmeiras saopaulo sãopaulo santos vasco vascodagama gremio grêmio internacional cruzeiro \
    atleticomineiro botafogo fluminense bahia benfica sporting porto futebol mengao timao verdao tricolor \
    ronaldo neymar messi pele portugal lisboa brazil riodejaneiro salvador curitiba fortaleza america \
    london newyork california canada mexico argentina england australia google facebook instagram youtube \
    twitter linkedin microsoft windows apple iphone samsung android whatsapp netflix amazon github docker \
    linux ubuntu debian oracle postgres mysql database starwars startrek pokemon pikachu naruto minecraft \
    fortnite roblox playstation nintendo xbox360 spiderman ironman wolverine avengers gandalf harrypotter \
    hogwarts matrix terminator godzilla metallica nirvana slipknot eminem blink182 beatles mercedes \
    ferrari porsche corvette mustang chevrolet yamaha kawasaki cheetah snoopy garfield mickey mickeymouse \
    hellokitty summer winter spring autumn january february september october november december monday \
    friday saturday sunday verao verão inverno primavera outono janeiro fevereiro dezembro natal christmas \
    anonovo happy happiness flower flowers butterfly rainbow chocolate banana orange cookie cheese coffee \
    peanut pumpkin strawberry cherry purple yellow silver golden diamond crystal freedom killer ninja \
    samurai warrior hunter ranger phoenix thunder lightning starlight midnight moonlight tiger panther \
    eagle falcon wolf lion kitten kitty puppy doggy horse dolphin turtle elephant cachorro cachorra gato \
    cavalo borboleta passarinho estrela estrelinha lua sol solzinho arcoiris liberdade vitorioso campeao \
    campeão guerreiro guerreira bonito bonita abacaxi morango laranja melancia cerveja churrasco feijoada \
    cafezinho brigadeiro escola trabalho dinheiro music guitar dance player gamer lucky money power magic \
    cool fuckyou fuckoff asshole bitch caralho foda-se fodase merda porra palavrao office company service \
    support manager student teacher doctor school college network wireless";

/// Phrases used as a password, with and without spaces. Separated by commas; the other lists by spaces.
const PHRASES: &str = "\
    correct horse battery staple, the quick brown fox, the quick brown fox jumps over the lazy dog, \
    quick brown fox jumps, let me in please, please let me in, open sesame please, open sesame, \
    this is my password, this is a password, this is the password, this is not a password, \
    this is my new password, this is a secure password, this is a strong password, this is secure, \
    my secret password, my super secret password, super secret password, super secret, my new password, \
    my password is, my password is password, what is my password, what is the password, \
    i forgot my password, i forgot the password, i hate passwords, i hate this password, \
    i need a new password, change my password, change me please, change this password, please change me, \
    please change this, password is password, password for work, work password, strong password, \
    very strong password, very long password, a very long password, a long password, long password, \
    secure password, a secure password, temporary password, default password, initial password, \
    company password, admin password, administrator password, root password, test password, \
    guest password, new password, fifteen characters, fifteen letters, at least fifteen, \
    must be fifteen characters, i love you, i love you so much, i love you forever, i love you baby, \
    i love you more, i love my family, i love my mom, i love my dog, i love my cat, i love my wife, \
    i love my husband, i love my kids, i love my children, i love my daughter, i love my son, \
    i love my life, i love my self, i love jesus, i love jesus christ, i love god, god is good, \
    god is love, god is great, god bless you, god bless america, jesus is lord, jesus loves me, \
    jesus loves you, jesus is my savior, in god we trust, thank you jesus, thank you lord, \
    the lord is my shepherd, our father who art in heaven, amazing grace, best friends forever, \
    friends forever, family forever, together forever, forever and ever, forever and always, \
    live laugh love, live love laugh, love is all you need, all you need is love, you and me, \
    never give up, never say never, never forget, carpe diem, hakuna matata, keep calm and carry on, \
    winter is coming, may the force be with you, use the force luke, luke i am your father, \
    i am your father, to be or not to be, to be or not to be that is the question, hello world, \
    hello my name is, hello my friend, hello hello hello, good morning, good morning sunshine, \
    you are my sunshine, happy birthday, happy birthday to you, happy new year, merry christmas, \
    once upon a time, a long time ago, somewhere over the rainbow, twinkle twinkle little star, \
    mary had a little lamb, row row row your boat, welcome to the jungle, welcome home, welcome back, \
    welcome to my world, stairway to heaven, hotel california, bohemian rhapsody, we are the champions, \
    we will rock you, let it be, dont worry be happy, dont stop believing, highway to hell, \
    sweet child of mine, smells like teen spirit, nothing else matters, enter sandman, let it go, \
    one two three four, one two three four five, one two three four five six, um dois tres quatro, \
    um dois tres quatro cinco, a b c d e f g, do re mi fa sol la si, red green blue, roses are red, \
    roses are red violets are blue, monday tuesday wednesday, january february march, harry potter, \
    harry potter and the, star wars, lord of the rings, game of thrones, the lord of the rings, \
    the walking dead, breaking bad, the big bang theory, grand theft auto, call of duty, \
    league of legends, world of warcraft, counter strike, real madrid, manchester united, liverpool fc, \
    you never walk alone, you will never walk alone, new york city, new york yankees, dallas cowboys, \
    los angeles lakers, united states of america, united states, united kingdom, trust no one, \
    nobody knows, none of your business, i dont know, i dont care, i dont remember, go away, \
    leave me alone, what the fuck, fuck you all, fuck this shit, who am i, it is me, its a secret, \
    it is a secret, top secret, no more passwords, one password, remember this, remember me, \
    remember the password, do not forget, dont forget this, secret santa, minha senha, minha senha segura, \
    minha senha forte, minha senha secreta, minha senha nova, minha nova senha, minha senha e forte, \
    minha senha e essa, minha senha e segura, essa e minha senha, esta e minha senha, \
    esta é a minha senha, esta e a minha senha, essa é a minha senha, qual e a senha, qual é a senha, \
    qual e minha senha, esqueci minha senha, esqueci a senha, esqueci a minha senha, nao sei a senha, \
    não sei a senha, nao lembro a senha, senha segura, senha forte, senha muito forte, senha muito segura, \
    senha secreta, senha super secreta, senha do trabalho, senha da empresa, senha de acesso, \
    senha do sistema, senha padrao, senha padrão, senha provisoria, senha temporaria, senha temporária, \
    senha inicial, senha do administrador, senha de teste, uma senha qualquer, uma senha longa, \
    senha longa, senha bem longa, senha grande, mudar a senha, mudar senha, trocar a senha, trocar senha, \
    trocar essa senha, nova senha, quinze caracteres, quinze letras, eu te amo, eu te amo muito, \
    eu te amo demais, eu te amo meu amor, te amo muito, te amo demais, te amo para sempre, \
    te amo meu amor, amo voce, amo você, eu amo voce, eu amo você, eu amo minha familia, \
    eu amo minha família, amo minha familia, amo minha família, minha familia, minha família, \
    minha familia e tudo, minha vida, meu amor, meu grande amor, amor da minha vida, amor eterno, \
    amor verdadeiro, meu filho amado, minha filha amada, meus filhos, amo meus filhos, amo meu filho, \
    amo minha filha, amo minha mae, amo minha mãe, para sempre, pra sempre, juntos para sempre, \
    amigos para sempre, deus e fiel, deus é fiel, deus e amor, deus é amor, deus e pai, deus no comando, \
    deus no controle, deus esta no controle, deus acima de tudo, brasil acima de tudo, deus te abençoe, \
    deus seja louvado, gloria a deus, glória a deus, graças a deus, gracas a deus, obrigado senhor, \
    obrigado deus, obrigada deus, jesus te ama, jesus me ama, jesus cristo, jesus e o senhor, \
    jesus é o senhor, jesus e o caminho, jesus salva, o senhor e meu pastor, o senhor é meu pastor, \
    nada me faltara, nada me faltará, nossa senhora aparecida, nossa senhora de fatima, \
    ave maria cheia de graça, pai nosso, pai nosso que estais no ceu, maria jose, feliz natal, \
    feliz ano novo, feliz aniversario, feliz aniversário, parabens pra voce, parabéns pra você, bom dia, \
    boa tarde, boa noite, bom dia brasil, bem vindo, seja bem vindo, seja feliz, viva a vida, \
    a vida e bela, a vida é bela, ordem e progresso, rio de janeiro, sao paulo, são paulo, belo horizonte, \
    sao paulo futebol clube, são paulo futebol clube, porto alegre, campo grande, minas gerais, \
    vai corinthians, vai palmeiras, vai flamengo, vasco da gama, uma vez flamengo, \
    uma vez flamengo sempre flamengo, sempre flamengo, flamengo campeao, corinthians campeao, \
    palmeiras campeao, timao do povo, atletico mineiro, galo doido, pentacampeao mundial, abra te sesamo, \
    abre te sesamo, batatinha quando nasce, atirei o pau no gato, ciranda cirandinha, o rato roeu a roupa, \
    o rato roeu a roupa do rei de roma, pao de queijo, pão de queijo, nao sei, não sei, nao interessa, \
    não interessa, nao esquecer, não esquecer, sei la, sei lá, me deixa entrar, deixa eu entrar, \
    quero entrar, foda se, vai se foder, cachorro quente, gato preto, vida nova, vida loka, mundo novo, \
    mundo melhor";

/// Keyboard rows; a walk starts anywhere, wraps around, and reverses.
const WALKS: &str = "\
    1234567890 0123456789 9876543210 0987654321 123456789 987654321 12345678 1234567 123456 12345 1234 123 \
    321 147258369 159357 123654789 789456123 741852963 1357 2468 112233445566778899 11223344 1122334455 \
    102030405060 10203040 123321 1234554321 246810 13579 142536 123123 121212 abcdefghijklmnopqrstuvwxyz \
    zyxwvutsrqponmlkjihgfedcba qwertyuiop qwertyuiopasdfghjklzxcvbnm qwertyuiopasdfghjkl asdfghjkl \
    asdfghjklzxcvbnm asdfghjklç zxcvbnm poiuytrewq lkjhgfdsa mnbvcxz mnbvcxzlkjhgfdsapoiuytrewq qwerty \
    qwert asdfgh asdf zxcv zxcvbn qwertzuiop azertyuiop qwertyuiop[] 1qaz2wsx3edc4rfv5tgb6yhn7ujm \
    qazwsxedcrfvtgbyhnujmikolp zaq1xsw2cde3vfr4bgt5nhy6mju7 1q2w3e4r5t6y7u8i9o0p q1w2e3r4t5y6u7i8o9p0 \
    a1b2c3d4e5f6g7h8i9j0 1a2b3c4d5e6f7g8h9i0j aabbccddeeffgghhiijj abc123 123abc abcd1234 1234abcd qwe123 \
    123qwe qwer1234 1234qwer asd123 zxc123 qweasdzxc qweasdzxc123 123qweasdzxc 1qazxsw2 qazxsw 1qaz2wsx \
    qwaszx asdfjkl; !@#$%^&*() !@#$%¨&*() 1!2@3#4$5%6^7&8*9(0) !qaz@wsx#edc$rfv qawsedrftgyhujikolp \
    q2w3e4r5t6y7u8i9o0p 3.14159265358979323846 31415926535897932384 27182818284590452353 \
    11235813213455891442 0112358132134558914 1248163264128256512";

const TAILS: &str = "\
    0 00 000 01 007 2 3 5 7 8 9 10 11 13 21 22 23 69 77 88 99 100 101 111 1111 11111 111111 1234567 12345678 \
    123456789 1234567890 12345678910 123123 123321 321 4321 54321 654321 666 777 999 !!!! @ # * ? . .. ... 12! \
    1234! 12345! @1 @12 @1234 @12345 @123456 @2024 @2025 @2026 2024! 2025! 2026! #1 #123 _123 -123 .123 !1 !123 !@# \
    !@#$ abc abc123 qwe qwerty a x br";
const HEADS: &str = "1 123 1234 123456 my the minha meu";
/// For combinations where all tails would be too many.
const FEW_TAILS: &str = "1 12 123 1234 12345 123456 ! !! !!! @123 123! 1! 2024 2025 2026";
const FIRST_YEAR: u32 = 1970;
const LAST_YEAR: u32 = 2030;

/// Emits every entry, some more than once. The lists are in lower case and NFC, so the entries are too.
fn generate(emit: &mut dyn FnMut(String)) {
    let [top, walks, few] = [TOP, WALKS, FEW_TAILS].map(|list| list.split(' ').collect::<Vec<_>>());
    let years = || (FIRST_YEAR..=LAST_YEAR).map(|year| year.to_string());
    let tails: Vec<String> =
        few.iter().copied().chain(TAILS.split(' ')).map(str::to_owned).chain(years()).collect();

    // One key, repeated.
    for key in ('a'..='z').chain('0'..='9').chain("!@#$%&*()-_=+.,;:?/ çáéãõñ".chars()) {
        repeat(&key.to_string(), &[], emit);
    }
    for word in top.iter().copied().chain(WORDS.split(' ')) {
        repeat(word, &few, emit);
        for tail in &tails {
            emit(format!("{word}{tail}"));
        }
        for head in HEADS.split(' ') {
            for tail in ["", "1", "123"] {
                emit(format!("{head}{word}{tail}"));
            }
            emit(format!("{head}{word}{head}{word}"));
        }
        for separator in [" ", "-", "_", ".", "1", "123"] {
            emit([word; 2].join(separator));
            emit([word; 3].join(separator));
        }
        // Filled up to the minimum length.
        for filler in ["1", "0", "!", "."] {
            for length in [8, 10, 12, 15, 16, 17, 18, 20] {
                let missing = usize::saturating_sub(length, word.chars().count());
                emit(format!("{word}{}", filler.repeat(missing)));
            }
        }
        for (from, to) in [("ao", "@0"), ("aeios", "43105"), ("o", "0")] {
            let disguise = |letter| {
                from.chars().zip(to.chars()).find(|pair| pair.0 == letter).map_or(letter, |pair| pair.1)
            };
            let disguised: String = word.chars().map(disguise).collect();
            for tail in ["", "1", "12", "123", "1234", "!", "123!"] {
                emit(format!("{disguised}{tail}"));
                emit(format!("{disguised}{disguised}{tail}"));
            }
        }
    }
    for one in &top {
        for two in &top {
            for tail in ["", "1", "123", "!"] {
                emit(format!("{one}{two}{tail}"));
            }
            emit(format!("{one} {two}"));
            emit(format!("{one}{two}{one}{two}"));
        }
    }
    for phrase in PHRASES.split(", ") {
        for separator in ["", " ", "-", "_", "."] {
            let joined = phrase.replace(' ', separator);
            if matches!(separator, "" | " ") {
                for tail in &few {
                    emit(format!("{joined}{tail}"));
                }
            }
            emit(format!("{joined}{separator}{joined}"));
            emit(joined);
        }
    }
    for walk in &walks {
        repeat(walk, &few, emit);
        let keys: Vec<char> = walk.chars().collect();
        for start in 0..keys.len() {
            for length in MIN..=26 {
                emit(keys.iter().cycle().skip(start).take(length).collect());
                // Forwards, then backwards.
                let way = &keys[start..keys.len().min(start + length)];
                emit(way.iter().chain(way.iter().rev()).collect());
            }
        }
        for other in &walks {
            emit(format!("{walk}{other}"));
        }
        for word in &top {
            emit(format!("{walk}{word}"));
            emit(format!("{word}{walk}"));
        }
    }
    for year in years() {
        repeat(&year, &[], emit);
    }
}

/// Repeats a unit: whole times, or up to a length; the first few repetitions also with a tail.
fn repeat(unit: &str, tails: &[&str], emit: &mut dyn FnMut(String)) {
    let length = unit.chars().count().max(1);
    for times in 1..=MAX / length {
        emit(unit.repeat(times));
    }
    for enough in 15..=20 {
        if enough > length {
            emit(unit.chars().cycle().take(enough).collect());
        }
    }
    for tail in tails {
        for times in 1..=3 {
            emit(format!("{}{tail}", unit.repeat(times)));
        }
    }
}

#[cfg(test)]
mod tests;
