"""What the name of a column says, in several languages."""

from __future__ import annotations

import re
import unicodedata

# The words by what they mean; written as one, without accents.
_WORDS = {
    "person": """
        firstname lastname surname forename givenname familyname fullname middlename maidenname nickname
        username login vorname nachname familienname geburtsname zuname nom prenom nomdefamille nombre
        nombres apellido apellidos cognome nome sobrenome apelido voornaam achternaam naam imie nazwisko
        fornavn efternavn etternavn fornamn efternamn etunimi sukunimi benutzername""",
    "email": "email mail emailaddress mailadresse emailadresse correo courriel epost",
    "phone": """
        phone telephone tel mobile cell cellphone fax phonenumber telefon telefonnummer handy handynummer
        mobil mobilnummer mobiltelefon telefono telefone celular portable gsm telefoon""",
    "address": """
        address street streetaddress addr housenumber strasse adresse anschrift hausnummer rue calle
        direccion domicilio indirizzo rua endereco morada adres straat huisnummer gate""",
    "number": """
        ssn sin nino socialsecurity socialsecuritynumber nationalid passport passportnumber ausweis
        personalausweis sozialversicherungsnummer svnr steuerid steuernummer insee dni nie nif cpf
        codicefiscale bsn personnummer cpr pesel mrn medicalrecordnumber nhs nhsnumber driverslicense
        licenseplate plate kennzeichen vin iban accountnumber bankaccount konto kontonummer creditcard
        cardnumber kreditkarte versichertennummer versicherungsnummer ip ipaddress macaddress deviceid
        cookie""",
    "id": """
        id ids uuid guid key pk nr no num number nummer numero ref reference kennung identifier rowid serial
        index laufnummer lfdnr aktenzeichen fallnummer matricule matrikelnummer identifiant""",
    "who": """
        person people patient patienten customer client kunde kunden klient employee mitarbeiter personal
        staff user benutzer member mitglied student schueler subject participant proband respondent
        passenger driver rider holder applicant insured versicherter cliente paciente empleado usuario
        salarie utilisateur dipendente utente werknemer klant case fall""",
    "postal": """
        zip zipcode postcode postal postalcode plz postleitzahl cp codepostal codigopostal cap cep
        postnummer postnr""",
    "latitude": "lat latitude breitengrad breite latitud latitudine",
    "longitude": "lon lng long longitude laengengrad laenge longitud longitudine",
    "sensitive": """
        diagnosis diagnoses diagnose diagnostic diagnostico diagnosi dx disease illness sickness krankheit
        erkrankung maladie enfermedad malattia doenca ziekte icd icd10 condition symptom symptoms salary
        salaryclass wage wages income pay gehalt gehaltsklasse lohn einkommen salaire revenu salario sueldo
        ingresos stipendio reddito renda salaris loon inkomen bonus religion konfession
        religionszugehoerigkeit faith hiv medication drug medicine medikament medikation treatment therapy
        therapie traitement tratamiento prescription disability behinderung handicap sexualorientation
        orientation politicalparty politics partei gewerkschaft crime offense offence conviction straftat
        delit delito debt schulden deuda creditscore kreditwuerdigkeit befund testresult labresult wealth
        vermoegen""",
    "notes": """
        comment comments note notes notiz notizen remark remarks bemerkung bemerkungen kommentar observation
        observations description beschreibung freitext freetext memo message nachricht text remarque
        comentario commento""",
    "age": "age ages alter lebensalter edad idade leeftijd aetas",
    "birth": """
        birth birthday birthdate birthyear dob yob born dateofbirth yearofbirth geboren geburt geburtsdatum
        geburtsjahr geburtstag naissance datenaissance nacimiento nascita nascimento geboortedatum""",
    "date": "date dates day datum fecha timestamp dob dateofbirth geburtsdatum geboortedatum",
    "place": """
        city town village county district municipality precinct borough parish neighborhood neighbourhood
        censustract geocode stadt ort gemeinde landkreis kreis bezirk ville commune ciudad municipio comune
        citta cidade gemeente plaats""",
}
# By its name a column holds what is a person's own, in words.
NAMING = {
    "email": "an e-mail address",
    "phone": "a telephone number",
    "address": "an address",
    "number": "a number that is a person's own",
}
_KNOWN = {meaning: frozenset(words.split()) for meaning, words in _WORDS.items()}
# A name is a person's where it stands alone, or beside a word for people.
_NAME = frozenset(["name", "names", "namen"])
_FULL = frozenset(["first", "last", "full", "given", "family", "middle", "maiden", "sur", "user", "legal", "birth"])
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def words_of(name: str) -> list[str]:
    """The words of a column's name, without case and accents: of `dateOfBirth` and `DATE-OF-BIRTH` the same."""
    spelled = name.replace("ß", "ss").replace("ä", "ae").replace("ö", "oe").replace("ü", "ue")
    plain = unicodedata.normalize("NFKD", spelled.replace("Ä", "Ae").replace("Ö", "Oe").replace("Ü", "Ue"))
    return [piece.lower() for piece in _PIECES.findall("".join(c for c in plain if not unicodedata.combining(c)))]


def meanings_of(name: str) -> frozenset[str]:
    """What a column of this name may hold: by single words, by two or three that stand together, and by all."""
    words = words_of(name)
    runs = {"".join(words[a:b]) for a in range(len(words)) for b in range(a + 1, min(len(words), a + 3) + 1)}
    runs.add("".join(words))
    found = {meaning for meaning, known in _KNOWN.items() if runs & known}
    if _NAME & set(words):
        beside = set(words) - _NAME
        if not beside or beside <= _FULL | _KNOWN["who"] or beside & _FULL:
            found.add("person")
        else:
            found.discard("person")
    return frozenset(found)
